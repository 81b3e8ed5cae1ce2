package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/spec"
)

// TestChanges looks for changes of each kind that opgen check finds, and for those that docs/mutants.md
// names.
func TestChanges(t *testing.T) {
	j, err := newJudge("../..")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(j.dir)
	all := j.changes()
	names, err := harmless("../..")
	if err != nil || len(names) == 0 {
		t.Fatalf("want names of changes in docs/mutants.md, got none, %v", err)
	}
	for name := range names {
		if !slices.ContainsFunc(all, func(c change) bool { return c.name == name }) {
			t.Errorf("docs/mutants.md names %s: want a change, got none of this name", name)
		}
	}
	wanted := []string{
		"softmax: split has R",
		"linear: reduce has K always, rather than when !use_bias && !has(activation)",
		"softmax: reduce has A, rather than split",
		`linear: weight.saved is false, rather than "true"`,
		`gather: input.saved is true, rather than ""`,
		"softmax: inplace.backward has input as a view of output",
		"gather: inplace has output where input is",
		"element_unary: forward runs over 2 * (prod(N)), rather than prod(N)",
		"softmax: forward.elementwise is true",
		"softmax: forward takes 10 times 6 * prod(A) * R * prod(B)",
		"softmax: forward takes 6 * prod(A) * prod(B), without R",
		"pool_2d: the shift of tiles.forward.input.H is -padding_h + 1",
		"batch_matmul: dimensions 1 and 2 of rhs_input are exchanged",
		"softmax: output is of type i32, rather than T",
		"softmax: the gradient of input is given scatter",
	}

	// Checking the whole catalogue for each change would take a second: specs that these do not name are left
	// out.
	needed := map[string]bool{}
	for _, w := range wanted {
		name, _, _ := strings.Cut(w, ":")
		needed[name] = true
	}
	specs := j.read()
	for before := 0; before < len(needed); {
		before = len(needed)
		for _, s := range specs {
			if s.Kind == spec.Enum || s.Kind == spec.Initializer {
				needed[s.Name.V] = true
			}
			for _, f := range s.Fusions {
				if needed[s.Name.V] {
					needed[f.Other.V] = true
				}
			}
		}
	}
	var inputs []driver.Input
	for i, s := range specs {
		if needed[s.Name.V] {
			inputs = append(inputs, j.inputs[i])
		}
	}
	j.inputs = inputs
	var list diag.List
	if j.resolve(j.read(), &list) == nil {
		t.Fatalf("want no findings without a change, got %s", list.Sorted()[0].Message)
	}
	for _, want := range wanted {
		i := slices.IndexFunc(all, func(c change) bool { return c.name == want })
		if i < 0 {
			t.Errorf("want a change %s, got none", want)
			continue
		}
		if _, d := j.changed(all[i]); d == nil {
			t.Errorf("%s: want a finding, got none", want)
		}
	}
}
