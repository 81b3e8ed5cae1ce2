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

// Check checks the facts that specs state against their formulas, at the examples of a module's operators.
// specs are in any order. k is the result of Follow, or nil. Diagnostics are added to list.
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
		t := &trial{op: o, spec: byName[o.Name], known: k.about(o), compare: comparing, list: &lists[i], others: others, built: map[string]bool{}, reported: map[source.Span]bool{},
			use: map[int]bool{}, gradients: map[int]scattering{}, placed: map[*spec.InPlace]placing{}, costs: map[string]pricing{}, shown: map[source.Span]string{}}
		for k := range t.spec.Examples {
			t.try(k)
		}
		t.checkUse()
		t.checkSizes()
		t.checkScatter()
		t.checkCosts()
		t.checkShown()
		t.checkCompared()
	})
	for i := range lists {
		list.Merge(&lists[i])
	}
}

// trial checks the examples of one operator.
type trial struct {
	op     *model.Operator
	spec   *spec.Spec
	list   *diag.List
	known  *known
	others map[string]*model.Operator
	built  map[string]bool // kinds of choices (see kindsOf) at which the program was built
	// The evidence of all examples about each stated fact. Each fact is reported once.
	reported  map[source.Span]bool
	use       map[int]bool // by slot that is stated to be saved: the gradient needs it
	gradients map[int]scattering
	placed    map[*spec.InPlace]placing
	costs     map[string]pricing     // by task
	shown     map[source.Span]string // where elementwise is stated: "", or the task's name if no example so far shows it
	// Of gradients by hand: how many operations comparisons may still take, whether there was one, and the
	// places of the gradients at examples that take too many.
	compare  int
	compared bool
	large    []source.Span
}

// contradict reports that a stated fact contradicts the formula. It appends the number of the example to the
// message. It returns nil if a diagnostic at this position exists.
func (t *trial) contradict(at source.Span, format string, v *view, args ...any) *diag.Diagnostic {
	return t.report(at, format+", as in example %d", append(args, v.example)...)
}

// report adds a diagnostic, at most one for each position.
func (t *trial) report(at source.Span, format string, args ...any) *diag.Diagnostic {
	if t.reported[at] || at.File == nil {
		return nil
	}
	t.reported[at] = true
	return t.list.Add(diag.BadFormula, at, format, args...)
}

// try checks example i. The example must fit at least one choice of element types. The program is built for
// the first such choice, and for others only if no example has built a choice of their kind: programs of one
// kind do not differ, and opgen check must stay fast.
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
			if first {
				t.checkConstraints(u, nil, i+1)
			}
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

// facts checks the facts that the spec states against the formula at example i. It returns false if the
// program is too large to check more.
func (t *trial) facts(u *use, i int) bool {
	at := t.spec.Examples[i].Span
	v := u.look(i+1, t.known)
	switch {
	case v == nil:
		return true // Build of the use itself fails, too, and reports the error
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
	t.checkConstraints(u, v, i+1)
	t.noteScatter(v)
	t.noteCosts(v)
	return true
}

// kindsOf returns a key of the properties of a choice that programs depend on: the kind of each element type
// (float, bool or integer), and whether outputs on request exist.
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
