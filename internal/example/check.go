package example

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// Check tries the examples of a module's operators. specs holds their specs, in any order. Findings go to list.
func Check(m *model.Module, specs []*spec.Spec, list *diag.List) {
	byName := map[string]*spec.Spec{}
	for _, s := range specs {
		byName[s.Name.V] = s
	}
	lists := make([]diag.List, len(m.Operators))
	parallel.Do(len(m.Operators), func(i int) {
		o := m.Operators[i]
		t := &trial{op: o, spec: byName[o.Name], list: &lists[i], built: map[string]bool{}, saved: map[string]bool{}, divided: map[string]bool{}}
		t.parsed, _ = program.Parse(o.Operator.Formula) // program.Build reports the error
		for k := range t.spec.Examples {
			t.try(k)
		}
	})
	for i := range lists {
		list.Merge(&lists[i])
	}
}

// trial tries the examples of an operator.
type trial struct {
	op      *model.Operator
	spec    *spec.Spec
	list    *diag.List
	parsed  *program.Parsed // the formula; nil if there is none
	built   map[string]bool // kinds of choices for which the program of the formula was built
	saved   map[string]bool // slots of which a finding says that backward needs them
	divided map[string]bool // dimensions of which a finding says that dividing them does something else
}

// try tries example number i. It must fit for one choice of element types at least. The program of the formula is built
// for the first such choice, and for others only if they are of a kind for which no example has built it: opgen check must
// stay fast, and programs of the same kind do not differ.
func (t *trial) try(i int) {
	x, at := &t.op.Operator.Examples[i], t.spec.Examples[i].Span
	fits := false
	var refused error
	for _, c := range Choices(t.op) {
		kind := kindsOf(c)
		if fits && t.built[kind] {
			continue
		}
		u := newUse(t.op, x, c)
		if u.err != nil {
			refused = u.err
			continue
		}
		u.parsed = t.parsed
		first := !fits
		fits, t.built[kind] = true, true
		if len(t.op.Operator.Formula) == 0 {
			continue
		}
		if first {
			t.facts(u, i)
		}
		if _, err := program.Build(u.result()); err != nil {
			t.list.Add(diag.BadFormula, at, "example %d of %s: the formula cannot be computed: %v", i+1, t.op.Name, err)
			return
		}
	}
	if !fits && refused != nil {
		t.list.Add(diag.BadExample, at, "example %d of %s does not fit: %v", i+1, t.op.Name, refused)
	}
}

// facts compares what the spec states with what follows from the formula in a use of the operator.
func (t *trial) facts(u *use, i int) {
	if len(t.op.Shards) == 0 && !t.op.Derived {
		return
	}
	open := u.result()
	open.Open, open.Definitions = true, definitions(t.op)
	p, err := program.Build(open)
	if err != nil {
		return // so does Build of the use itself, which is reported
	}
	u.checkShards(p, t.spec, i, t.list, t.divided)
	u.checkSaved(p, t.spec, i, t.list, t.saved)
}

// kindsOf names what programs depend on in a choice: whether element types are floats, booleans or integers, and whether
// outputs are requested.
func kindsOf(c Choice) string {
	var b strings.Builder
	for _, t := range c.Types {
		switch {
		case t.IsFloat():
			b.WriteByte('f')
		case t == dtype.Bool:
			b.WriteByte('b')
		default:
			b.WriteByte('i')
		}
	}
	return fmt.Sprint(b.String(), c.Request)
}
