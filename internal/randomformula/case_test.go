package randomformula_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/randomformula"
)

// TestFeatures checks that opgen check accepts most formulas, and some with each feature: a feature that is
// never accepted is not tested.
func TestFeatures(t *testing.T) {
	const formulas = 600
	accepted, drawn, run := 0, map[string]int{}, map[string]int{}
	for i := range uint64(formulas) {
		c := randomformula.New(3, i)
		list := resolve(c)
		for _, s := range c.Inputs { // gradients to which the formula adds have to be stated
			if list.Empty() || !strings.Contains(list.Sorted()[0].Message, "gives each element of the gradient of "+s.Name+" once") {
				continue
			}
			c.Scatter = append(c.Scatter, s.Name)
			list = resolve(c)
		}
		for f := range c.Features {
			drawn[f]++
			if list.Empty() {
				run[f]++
			}
		}
		if list.Empty() {
			accepted++
		}
	}
	if accepted < formulas/3 {
		t.Errorf("want a third of %d formulas to be accepted, got %d", formulas, accepted)
	}
	for _, f := range slices.Sorted(maps.Keys(drawn)) {
		if run[f] == 0 {
			t.Errorf("%s: want some formulas to be accepted, got none of %d", f, drawn[f])
		}
	}
	if len(drawn) < 35 {
		t.Errorf("want 35 features at least, got %d", len(drawn))
	}
}

// resolve returns what opgen check finds in the spec of a case.
func resolve(c *randomformula.Case) *diag.List {
	var list diag.List
	driver.Resolve([]driver.Input{{Path: "specs/op.toml", Text: c.Spec()}}, &list)
	return &list
}

// TestSameSeed checks that a seed gives the same formula again.
func TestSameSeed(t *testing.T) {
	for i := range uint64(50) {
		if a, b := randomformula.New(5, i), randomformula.New(5, i); a.Spec() != b.Spec() || !maps.Equal(a.Dims, b.Dims) {
			t.Fatalf("formula %d differs from itself:\n%s\n%s", i, a.Spec(), b.Spec())
		}
	}
}

// TestBoundsOfIntegers checks that a use has no element of an integer below 0, since no integer is right
// there.
func TestBoundsOfIntegers(t *testing.T) {
	for i := range uint64(1000) {
		c := randomformula.New(43, i)
		for _, s := range c.Inputs {
			if s.Below != "" && c.Dims[s.Below] == 0 && !slices.Contains(c.Extents(s.Shape), 0) {
				t.Errorf("formula %d: %s has elements %v below %s, which is 0", i, s.Name, s.Shape, s.Below)
			}
		}
	}
}

// TestExceptions checks that formulas look up by integers that may lie outside of their bound, and that opgen
// check accepts most of them.
func TestExceptions(t *testing.T) {
	drawn, accepted := 0, 0
	for i := range uint64(1500) {
		c := randomformula.New(47, i)
		if !c.Features["look-up with an exception"] {
			continue
		}
		var list diag.List
		driver.Resolve([]driver.Input{{Path: "specs/op.toml", Text: c.Spec()}}, &list)
		if drawn++; list.Empty() {
			accepted++
		}
	}
	if drawn < 15 || accepted < drawn/3 {
		t.Errorf("want 15 formulas at least, of which a third is accepted, got %d, of which %d are accepted", drawn, accepted)
	}
}
