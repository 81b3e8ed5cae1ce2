package example

import (
	"slices"

	"fmt"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// Check tries the examples of a module's operators. specs holds their specs, in any order, and k what Follow
// worked out of their formulas, or nil. Findings go to list.
func Check(m *model.Module, specs []*spec.Spec, k *Known, list *diag.List) {
	byName := map[string]*spec.Spec{}
	for _, s := range specs {
		byName[s.Name.V] = s
	}
	others := map[string]*model.Operator{}
	for _, o := range slices.Concat(m.Operators, m.Used) {
		others[o.FullName()] = o
	}
	lists := make([]diag.List, len(m.Operators))
	parallel.Do(len(m.Operators), func(i int) {
		o := m.Operators[i]
		t := &trial{op: o, spec: byName[o.Name], known: k.about(o), list: &lists[i], others: others, built: map[string]bool{}, reported: map[source.Span]bool{},
			use: map[int]bool{}, gradients: map[int]scattering{}, placed: map[*spec.InPlace]placing{}, costs: map[string]pricing{}}
		for k := range t.spec.Examples {
			t.try(k)
		}
		t.checkUse()
		t.checkSizes()
		t.checkScatter()
		t.checkCosts()
	})
	for i := range lists {
		list.Merge(&lists[i])
	}
}

// trial tries the examples of an operator.
type trial struct {
	op     *model.Operator
	spec   *spec.Spec
	list   *diag.List
	known  *known
	others map[string]*model.Operator
	built  map[string]bool // kinds of choices for which the program of the formula was built
	// What examples say about facts, of which one contradiction each is reported.
	reported  map[source.Span]bool
	use       map[int]bool // slots of which the spec states that they are saved: whether the gradient takes anything of them
	gradients map[int]scattering
	placed    map[*spec.InPlace]placing
	costs     map[string]pricing // by task
}

// contradict reports that a spec states something else than follows from the formula at an example, which the
// message ends with. It returns nil if something was reported at the place before.
func (t *trial) contradict(at source.Span, format string, v *view, args ...any) *diag.Diagnostic {
	return t.report(at, format+", as in example %d", append(args, v.example)...)
}

// report reports a finding at a place once.
func (t *trial) report(at source.Span, format string, args ...any) *diag.Diagnostic {
	if t.reported[at] || at.File == nil {
		return nil
	}
	t.reported[at] = true
	return t.list.Add(diag.BadFormula, at, format, args...)
}

// try tries example number i. It must fit for one choice of element types at least. The program of the
// formula is built for the first such choice, and for others only if they are of a kind for which no example
// has built it: opgen check must stay fast, and programs of the same kind do not differ.
func (t *trial) try(i int) {
	if t.known.spent > maxTerms {
		t.report(t.spec.Examples[0].Span, "the %d examples of %s are more than can be checked: at all of them, the formula and its gradient "+
			"consist of more than %d parts", len(t.spec.Examples), t.op.Name, maxTerms)
		return
	}
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
		u.parsed = t.known.parsed
		first := !fits
		fits, t.built[kind] = true, true
		if len(t.op.Operator.Formula) == 0 {
			continue
		}
		if first && !t.facts(u, i) {
			return
		}
		if _, err := program.Build(u.result()); err != nil {
			t.list.Add(diag.BadFormula, at, "example %d of %s: the formula cannot be computed: %v", i+1, t.op.Name, err)
			return
		}
		if first {
			t.checkGradients(u, i+1)
			t.checkFusions(x, c, i+1)
		}
	}
	if !fits && refused != nil {
		t.list.Add(diag.BadExample, at, "example %d of %s does not fit: %v", i+1, t.op.Name, refused)
	}
}

// facts compares what the spec states with what follows from the formula in a use of the operator. It reports
// whether there is more to compare.
func (t *trial) facts(u *use, i int) bool {
	at := t.spec.Examples[i].Span
	v := u.look(i+1, t.known)
	switch {
	case v == nil:
		return true // Build of the use itself fails as well, which is reported
	case v.tooLarge != nil:
		t.list.Add(diag.BadFormula, at, "example %d of %s: %v", i+1, t.op.Name, v.tooLarge)
		return false
	}
	t.checkShards(v)
	t.checkSaved(v)
	t.checkInPlace(v)
	t.checkElementwise(v)
	t.checkOver(v)
	t.checkTiles(v)
	t.noteScatter(v)
	t.noteCosts(v)
	return true
}

// kindsOf names what programs depend on in a choice: whether element types are floats, booleans or integers,
// and whether outputs are requested.
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
