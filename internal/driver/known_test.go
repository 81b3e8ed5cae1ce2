package driver_test

import (
	"testing"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
)

// TestFactsLeaveFormulas checks what a run relies on: facts that follow change nothing about formulas. So
// formulas are neither checked nor worked out again, and here they are.
func TestFactsLeaveFormulas(t *testing.T) {
	var list diag.List
	c, err := config.Load(repository, &list)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := driver.ReadSpecs(c)
	if err != nil {
		t.Fatal(err)
	}
	checked := driver.Read(inputs, &list)
	specs := checked.Enums
	for _, sc := range checked.Scopes {
		specs = append(specs, sc.Spec)
	}
	known, added := example.Follow(model.Resolve(checked), specs)
	if !added {
		t.Fatal("no fact follows")
	}
	for name, again := range map[string]func([]*spec.Spec, *check.Names, *diag.List) *check.Result{"Check": check.Check, "Again": check.Again} {
		for _, k := range []*example.Known{known, nil} {
			m := model.Resolve(again(specs, nil, &list))
			example.Check(m, specs, k, &list)
			for _, d := range list.Sorted() {
				t.Errorf("%s, formulas known: %v: %s: %s", name, k != nil, d.Code, d.Message)
			}
		}
	}
}
