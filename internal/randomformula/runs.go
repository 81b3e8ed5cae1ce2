package randomformula

import (
	"fmt"
	"slices"
	"strings"
)

// defined are the dimensions that specs define.
var defined = []struct{ name, value string }{{"O", `"broadcast(G, Y)"`}}

// exampleRuns are the extents of runs in examples, where axes is [0].
var exampleRuns = map[string][]int{"G...": {2, 3}, "Y...": {3}, "O...": {2, 3}, "A...": {2}, "B...": {3}}

// runs adds inputs with runs of dimensions, and attributes that select dimensions of them: whole is over G,
// other over what is repeated to G or to which G is repeated, lane and bias over a dimension R, which dim
// finds among those of lane, and mix over M and R.
func (w *writer) runs() {
	extent := func() int { return []int{0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9, 17, 33}[w.IntN(13)] }
	run := func(most int) []int {
		out := make([]int, w.IntN(most+1))
		for i := range out {
			if out[i] = extent(); i > 1 || most < 3 && i > 0 {
				out[i] = min(out[i], 4)
			}
		}
		return out
	}
	x, a, b := run(4), run(2), run(2)
	w.c.Dims["R"], w.c.Example["R"] = extent(), 4
	axes := w.Perm(len(x))[:w.IntN(len(x)+1)]
	perm := w.Perm(len(x))
	var y, o []int
	y = append(y, x[w.IntN(len(x)+1):]...)
	o = append(o, x...)
	for i := range y {
		at := len(o) - len(y) + i
		switch {
		case w.one(3):
			y[i] = 1
		case o[at] == 1:
			y[i] = 1 + w.IntN(4)
			o[at] = y[i]
		}
	}
	if w.one(4) {
		y, o = append([]int{2}, y...), slices.Clone(o)
		if at := len(o) - len(y); at < 0 {
			o = append([]int{2}, o...)
		} else if o[at] == 1 {
			o[at] = 2
		} else {
			y[0] = o[at]
		}
	}
	w.c.Runs = map[string][]int{"G...": x, "A...": a, "B...": b, "Y...": y, "O...": o}
	w.c.ExampleRuns = exampleRuns
	places := w.Perm(len(x) + 2)[:w.IntN(3)]
	for i, p := range places {
		places[i] = min(p, len(x)+len(places)-1)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for i := range places {
		places[i] = min(places[i], len(x)+i)
	}
	rank := len(a) + 1 + len(b)
	w.c.Attrs = fmt.Sprintf(`%s, "axes": %s, "perm": %s, "places": %s, "dim": %d}`, strings.Trim(w.c.Attrs, "}"), w.numbers(axes, len(x)), w.numbers(perm, len(x)),
		w.numbers(places, 0), len(a)-w.IntN(2)*rank)
	w.c.Inputs = append(w.c.Inputs, Slot{Name: "whole", Type: "T", Shape: []string{"G..."}}, Slot{Name: "lane", Type: "T", Shape: []string{"A...", "R", "B..."}},
		Slot{Name: "bias", Type: "T", Shape: []string{"R"}}, Slot{Name: "mix", Type: "T", Shape: []string{"M", "R"}},
		Slot{Name: "other", Type: "T", Shape: []string{"Y..."}})
	w.axes, w.perm, w.places = axes, perm, places
}

// numbers writes axes of a rank as JSON without blanks, as Tidy wants: some of them from the end, if there is
// a rank.
func (w *writer) numbers(list []int, rank int) string {
	var out []string
	for _, n := range list {
		if rank > 0 && w.one(4) {
			n -= rank
		}
		out = append(out, fmt.Sprint(n))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// selected returns the extents at axes, in the order of the extents, or those elsewhere.
func selected(x, axes []int, in bool) []int {
	out := []int{}
	for i, n := range x {
		if slices.Contains(axes, i) == in {
			out = append(out, n)
		}
	}
	return out
}

// shapeOfRun gives an output the shape over which its indices range.
func (w *writer) shapeOfRun(s *Slot, indices string) {
	x := w.c.Runs["G..."]
	var declared string
	var shape []int
	switch indices {
	case "drop(g, axes)":
		declared, shape = `["drop(G, axes)..."]`, selected(x, w.axes, false)
	case "keep(g, axes)":
		declared, shape = `["keep(G, axes)..."]`, selected(x, w.axes, true)
	case "#drop(g, axes)":
		declared, shape = `["ones(G, axes)..."]`, slices.Clone(x)
		for _, i := range w.axes {
			shape[i] = 1
		}
	case "permute(g, perm)":
		declared = `["permute(G, perm)..."]`
		for _, i := range w.perm {
			shape = append(shape, x[i])
		}
	case "insert(g, places)":
		declared, shape = `["insert(G, places)..."]`, slices.Clone(x)
		for _, i := range w.places {
			shape = slices.Insert(shape, i, 1)
		}
	default:
		s.Shape = nil
		for i := range strings.SplitSeq(indices, ", ") {
			switch d := strings.ToUpper(strings.TrimRight(i, "'")); d {
			case "":
			case "G", "A", "B", "O":
				s.Shape = append(s.Shape, d+"...")
			default:
				s.Shape = append(s.Shape, d)
			}
		}
		return
	}
	s.Declared, s.Shape = declared, nil
	for _, n := range shape {
		s.Shape = append(s.Shape, fmt.Sprint(n))
	}
}
