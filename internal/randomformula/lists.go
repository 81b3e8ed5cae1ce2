package randomformula

import (
	"fmt"
	"strings"
)

// present is the name in Dims of the number of tensors in the input that may be absent.
const present = "o"

// lists adds the inputs that are lists, and their numbers of tensors and extents. xs and ws have as many
// tensors as each other, all of one shape; those of ys have an extent of their own.
func (w *writer) lists() {
	least := w.pick("1", "1", "2", "0")
	for _, name := range []string{"xs", "ys", present} {
		w.c.Dims[name], w.c.Example[name] = 1+w.IntN(4), 2+w.IntN(2)
	}
	w.c.Dims[present], w.c.Example[present] = w.IntN(2), w.IntN(2)
	xs := Slot{Name: "xs", Type: "T", Shape: []string{"N", "K"}, Number: "xs"}
	fmt.Sscan(least, &xs.Least)
	if w.c.Dims["xs"] = max(w.c.Dims["xs"], xs.Least); xs.Least == 0 && w.one(2) {
		w.c.Dims["xs"] = 0
	}
	ws, ys := xs, xs
	ws.Name, ws.Shape = "ws", []string{"N"}
	ys.Name, ys.Number, ys.Shape, ys.Least = "ys", "ys", []string{"N", "C"}, 1
	for i := range 4 {
		w.c.Dims[fmt.Sprintf("C%d", i)] = []int{0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 17, 33}[w.IntN(12)]
		w.c.Example[fmt.Sprintf("C%d", i)] = 1 + w.IntN(4)
	}
	if w.one(4) { // equal ones
		for i := range 4 {
			w.c.Dims[fmt.Sprintf("C%d", i)] = 3
		}
	}
	w.c.Inputs = append(w.c.Inputs, xs, ws, ys, Slot{Name: "o", Type: "T", Shape: []string{"K"}, Number: present})
	if mentions(strings.Join(w.c.Lines, "\n"), "ws") {
		w.c.Require = append(w.c.Require, "count(ws) == count(xs)")
	}
}
