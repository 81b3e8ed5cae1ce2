// Package equation reads the equations of einsum, such as "ij,jk->ik", and finds the extents and the strides
// that tensors have along their labels.
package equation

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns an error if an equation is wrong, whatever the shapes of the tensors are.
func Check(equation string) error {
	_, err := parse(equation)
	return err
}

// Shape returns the shape of the output for tensors of the given shapes.
func Shape(equation string, shapes [][]int) ([]int, error) {
	b, err := Bind(equation, shapes)
	if err != nil {
		return nil, err
	}
	return b.Extents[:b.Rank], nil
}

// terms is an equation that was read: the labels of each input, and of the output. The label rest stands for
// "...".
type terms struct {
	inputs []string
	output string
}

const rest = '.'

// parse reads an equation. Without "->", the output has the labels that occur once, in alphabetical order.
func parse(equation string) (*terms, error) {
	fail := func(format string, args ...any) (*terms, error) {
		return nil, fmt.Errorf("equation %q: %s", equation, fmt.Sprintf(format, args...))
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(equation, " ", ""), "...", ".")
	left, right, explicit := strings.Cut(plain, "->")
	t := &terms{inputs: strings.Split(left, ","), output: right}
	for i, in := range t.inputs {
		if bad := wrongLabel(in); bad != "" {
			return fail("want letters or ... as the labels of input %d, got %s", i, bad)
		}
	}
	if !explicit {
		t.output = implicit(t.inputs)
		return t, nil
	}
	if bad := wrongLabel(right); bad != "" {
		return fail("want letters or ... as the labels of the output, got %s", bad)
	}
	for i, l := range right {
		if strings.ContainsRune(right[:i], l) {
			return fail("the output has the label %c twice", l)
		}
		if l != rest && !strings.ContainsRune(left, l) {
			return fail("no input has the label %c of the output", l)
		}
	}
	return t, nil
}

// wrongLabel returns what in a list of labels is none, or "".
func wrongLabel(labels string) string {
	for _, l := range labels {
		if (l < 'a' || l > 'z') && (l < 'A' || l > 'Z') && l != rest {
			return fmt.Sprintf("%q", l)
		}
	}
	if strings.Count(labels, string(rest)) > 1 {
		return "... twice"
	}
	return ""
}

// implicit returns the labels of an output that the equation leaves out.
func implicit(inputs []string) string {
	all := strings.Join(inputs, "")
	var once []rune
	for _, l := range all {
		if l != rest && strings.Count(all, string(l)) == 1 {
			once = append(once, l)
		}
	}
	slices.Sort(once)
	if strings.ContainsRune(all, rest) {
		return string(rest) + string(once)
	}
	return string(once)
}

// Bound is an equation for tensors of known shapes.
type Bound struct {
	// Extents holds the extent of each label. The first Rank labels are the labels of the output.
	Extents []int
	Rank    int
	// Labels lists the labels of the dimensions of each input. Strides lists the distance of elements along
	// each label: for the inputs and, last, the output. A label that a tensor has twice has the sum of both
	// strides.
	Labels  [][]int
	Strides [][]int
}

// Bind finds the extents of an equation's labels.
func Bind(equation string, shapes [][]int) (*Bound, error) {
	t, err := parse(equation)
	if err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) (*Bound, error) {
		return nil, fmt.Errorf("equation %q: %s", equation, fmt.Sprintf(format, args...))
	}
	if len(t.inputs) != len(shapes) {
		return fail("want %d inputs, got %d", len(t.inputs), len(shapes))
	}
	longest := 0 // how many dimensions ... stands for at most
	for i, in := range t.inputs {
		named := len(strings.ReplaceAll(in, string(rest), ""))
		if spare := len(shapes[i]) - named; spare < 0 || spare > 0 && named == len(in) {
			return fail("want %d dimensions of input %d, got the shape %v", named, i, shapes[i])
		} else if named < len(in) {
			longest = max(longest, spare)
		}
	}
	names := spread(t.output, longest, longest)
	b := &Bound{Rank: len(names)}
	for i, in := range t.inputs {
		var labels []int
		for _, l := range spread(in, len(shapes[i])-len(strings.ReplaceAll(in, string(rest), "")), longest) {
			at := slices.Index(names, l)
			if at < 0 {
				at, names = len(names), append(names, l)
			}
			labels = append(labels, at)
		}
		b.Labels = append(b.Labels, labels)
	}
	b.Extents = make([]int, len(names))
	for l := range b.Extents {
		b.Extents[l] = 1 // of ... that no input has
	}
	if err := b.measure(names, shapes); err != nil {
		return fail("%v", err)
	}
	b.stride(shapes)
	return b, nil
}

// spread returns the labels of a tensor, where ... stands for the last n of longest dimensions.
func spread(labels string, n, longest int) []string {
	var out []string
	for _, l := range labels {
		if l != rest {
			out = append(out, string(l))
			continue
		}
		for k := longest - n; k < longest; k++ {
			out = append(out, fmt.Sprintf("...%d", k))
		}
	}
	return out
}

// measure finds the extents of labels. Those of ... are repeated where they are 1.
func (b *Bound) measure(names []string, shapes [][]int) error {
	seen := make([]bool, len(names))
	for i, labels := range b.Labels {
		for d, l := range labels {
			n, repeats := shapes[i][d], strings.HasPrefix(names[l], "...")
			switch {
			case !seen[l] || repeats && b.Extents[l] == 1:
				b.Extents[l], seen[l] = n, true
			case n != b.Extents[l] && !(repeats && n == 1):
				return fmt.Errorf("the label %s has the extent %d, and %d in input %d", names[l], b.Extents[l], n, i)
			}
		}
	}
	return nil
}

// stride finds the strides of all tensors.
func (b *Bound) stride(shapes [][]int) {
	output := make([]int, b.Rank)
	for l := range output {
		output[l] = l
	}
	all := append(slices.Clone(shapes), b.Extents[:b.Rank])
	for i, labels := range append(slices.Clone(b.Labels), output) {
		strides := make([]int, len(b.Extents))
		step := 1
		for d := len(labels) - 1; d >= 0; d-- {
			if all[i][d] > 1 {
				strides[labels[d]] += step
			}
			step *= all[i][d]
		}
		b.Strides = append(b.Strides, strides)
	}
}
