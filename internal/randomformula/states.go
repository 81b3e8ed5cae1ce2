package randomformula

import "strings"

// owned are the weights that formulas read and give anew, and gain, which has a gradient.
var owned = []Slot{
	{Name: "held", Type: "T", Shape: []string{"N", "K"}, Fixed: true, Owned: true},
	{Name: "mem", Type: "T", Shape: []string{"K"}, Fixed: true, Owned: true},
	{Name: "last", Type: "T", Shape: []string{}, Fixed: true, Owned: true},
	{Name: "ticks", Type: "i32", Shape: []string{"K"}, Fixed: true, Owned: true},
	{Name: "gain", Type: "T", Shape: []string{"K"}, Owned: true},
}

// kept are the inputs and the weights of random optimizers, over a run of dimensions.
var kept = []Slot{
	{Name: updated, Type: "T", Shape: []string{"N"}, Fixed: true},
	{Name: "grad", Type: "T", Shape: []string{"N"}, Fixed: true},
	{Name: "step", Type: "T", Shape: []string{}, Fixed: true, Number: present},
	{Name: "first", Type: "T", Shape: []string{"N"}, Fixed: true, Owned: true},
	{Name: "second", Type: "T", Shape: []string{"N"}, Fixed: true, Owned: true},
	{Name: "tally", Type: "T", Shape: []string{}, Fixed: true, Owned: true},
	{Name: "turns", Type: "i32", Shape: []string{}, Fixed: true, Owned: true},
}

// initializer is the name of the operator that weights name in specs.
const initializer = "fill"

// updated is the input of an optimizer that it gives anew.
const updated = "weight"

// optimizer makes the operator an optimizer.
func (w *writer) optimizer() {
	w.c.Optimizer = true
	n := w.c.Dims["N"]
	w.c.Run = [][]int{{}, {n}, {n}, {n, 1}, {2, 3}, {3, n}, {1, 2, 2}, {130, 9}}[w.IntN(8)]
	w.c.Dims[present], w.c.Example[present] = w.IntN(2), w.IntN(2)
	w.c.Require = nil
	w.c.Inputs = append([]Slot(nil), kept...)
}

// Gives reports whether the formula gives the elements of a weight, or of an input of an optimizer, anew.
func (c *Case) Gives(s Slot) bool {
	if !s.Owned && !(c.Optimizer && s.Name == updated) {
		return false
	}
	for _, l := range c.Lines {
		if strings.HasPrefix(l, s.Name+"[") {
			return true
		}
	}
	return false
}

// Steps reports whether the formula reads the number of the step.
func (c *Case) Steps() bool { return mentions(strings.Join(c.Lines, "\n"), "iteration") }
