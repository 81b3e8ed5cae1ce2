package enginetest

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/engine"
)

// testConformance runs all conformance cases, in the type in which they are given and in float64. Each must
// pass: none may be skipped.
func (s *suite) testConformance(t *testing.T) {
	cases, _, err := conform.LoadAll(conform.Cases())
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 150 {
		t.Fatalf("only %d cases", len(cases))
	}
	r := &conform.Runner{Registry: s.catalogue(t), Operators: catalogue.Operators(), Backend: func() (engine.Backend, error) { return s.open(t, 2), nil }}
	for _, r.Double = range []bool{false, true} {
		for _, c := range cases {
			if res := r.Run(t.Context(), c); res.Status != conform.Passed {
				t.Errorf("%s, double %v: status %d: %s", c.Name(), r.Double, res.Status, res.Reason)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
