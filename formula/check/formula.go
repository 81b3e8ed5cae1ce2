package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// maxSteps bounds the number of expressions that the check of a formula evaluates. Calls of functions that
// call functions multiply them.
const maxSteps = 50_000

// giveUp reports once that the check of a formula exceeds its limit of steps. The remaining checks then
// succeed, so that no further errors follow.
func (c *session) giveUp() {
	if c.gaveUp {
		return
	}
	c.gaveUp = true
	e := &expr.Error{Code: expr.BadFormula, Message: "it takes too many steps to check the formula beyond this place"}
	if c.place != nil {
		e.Pos, e.End = c.place.Pos(), c.place.End()
	}
	e.Hint = "store values of its own for parts of the formula, and apply functions to those"
	c.main.report(e)
}

// formula is the state of the check of one formula, of an operator or an enum. The check is symbolic: it
// holds for all shapes and all values of attributes.
type formula struct {
	c    *session
	s    *Operator // nil for an enum
	sc   Scope     // nil for an enum
	text string

	functions map[string]*expr.Function
	tensors   map[string]*tensor // slots, and tensors that statements define
	order     []*tensor
	states    map[string]bool              // operands that a task writes
	each      map[string]*Slot             // dimensions that differ between the tensors of a variadic slot
	ranges    map[string]*extent           // of indices that are not named for a dimension
	ranging   map[string][]*expr.Statement // by such an index: the statements so far that declare its range
	used      map[string]bool              // names that the formula refers to
	lets      map[string]value             // values of dimensions
	cuts      map[part][2]*poly            // bounds of slices

	info      map[string]*info
	equals    map[string]poly   // atom -> a polynomial that is known to be equal
	quotients map[string]bool   // atoms of quotients without a remainder
	sizes     map[string]*run   // atom that is the product of a part's extents -> the part of the run
	joined    map[string][]elem // of an applied operator: run -> the elements of a shape that it matches
	required  []expr.Node       // the conditions of [require]
	root      *frame            // frame in which these conditions hold

	divided    map[*expr.Binary]bool // quotients of integers in functions -> whether they are in a subscript
	broken     map[string]bool       // functions with an error
	active     []string              // functions whose calls are being checked
	defining   bool                  // whether a function is checked without a call
	future     map[string]bool       // names that some statement defines
	wanted     map[string]bool       // slots whose names were misspelled
	unreadable bool                  // whether the text has syntax errors
	lost       map[string]bool       // names that lines with errors may define
	steps      int                   // remaining evaluations of expressions, and remaining steps of proofs
	proofs     int
	calls      int      // number of texts that stand for what is too long so far
	giving     []string // targets of the statement that is being checked
	checked    *expr.Statement
	recurring  *recurring // of the statements that are being checked, if there are recurrences
}

func (c *session) newFormula(text string) *formula {
	return &formula{c: c, text: text, root: &frame{}, functions: map[string]*expr.Function{}, tensors: map[string]*tensor{},
		states: map[string]bool{}, ranges: map[string]*extent{}, ranging: map[string][]*expr.Statement{}, lets: map[string]value{}, cuts: map[part][2]*poly{},
		info: map[string]*info{}, equals: map[string]poly{}, quotients: map[string]bool{}, sizes: map[string]*run{},
		joined: map[string][]elem{}, broken: map[string]bool{}, divided: map[*expr.Binary]bool{},
		future: map[string]bool{}, wanted: map[string]bool{}, steps: maxSteps, proofs: maxProofs}
}

// report adds an error to the findings. An empty position between two lines moves to the end of the first
// one.
func (f *formula) report(err *expr.Error) {
	e := *err
	e.End = max(e.End, e.Pos)
	if e.Pos == e.End && e.Pos <= len(f.text) {
		e.Pos = len(strings.TrimRight(f.text[:e.Pos], " \t\r\n"))
		e.End = e.Pos
	}
	if e.Code == expr.UnknownName && e.End <= len(f.text) && f.lost[f.text[e.Pos:e.End]] {
		return // it follows from a line that cannot be read
	}
	if a := f.enumOf(e.Name); a != nil {
		e.Name, e.Hint = "", "values of the enum "+a.Name+" stand in quotes: '"+e.Name+"'"
	}
	f.c.findings = append(f.c.findings, Finding{Error: &e})
}

// operator checks the formula of an operator, and returns its intermediate tensors.
func (c *session) operator(s *Operator) []Own {
	f := c.newFormula(s.Formula)
	f.s, f.sc, c.main = s, s.Scope, f
	ast, errs := expr.ParseFormula(s.Formula)
	for _, err := range errs {
		f.report(err)
	}
	f.unreadable, f.lost = len(errs) > 0, lostNames(s.Formula, errs)
	if s.Partial {
		return nil // what its names mean is not known
	}
	f.slots()
	f.gradients()
	f.requirements()
	f.used = usedIn(ast)
	f.defined(ast)
	f.statements(ast.Statements, ast.Recurrences())
	f.pairs(ast)
	if !f.unreadable {
		f.complete(ast)
	}
	return f.own()
}

// own lists the intermediate tensors of the formula with their inferred shapes.
func (f *formula) own() []Own {
	var out []Own
	for _, t := range f.order {
		if t.slot == nil && !t.scalar && !t.bad && t.known && !t.isGradient() {
			out = append(out, Own{t.name, t.node.Pos(), t.node.Pos() + len(t.name), t.shape, kindNames[t.kinds]})
		}
	}
	return out
}

// nameNode returns the name of a function as a node, for the position of an error.
func nameNode(fn *expr.Function) expr.Node {
	return expr.NewIdent(fn.Name, fn.Pos, fn.Pos+len(fn.Name))
}

// noValue reports a function ATTR.VALUE, or VALUE in an enum's formula, for a value that the enum does not
// have. what describes the enum.
func (f *formula) noValue(fn *expr.Function, value, what string, values []string) {
	at := fn.Pos + len(fn.Name) - len(value)
	e := &expr.Error{Pos: at, End: at + len(value), Code: expr.UnknownName, Message: fmt.Sprintf("%s has no value %s", what, value)}
	if !suggest(e, value, values) {
		e.Hint = "values are " + strings.Join(values, ", ")
	}
	f.report(e)
}

// defined declares the functions of a formula, and checks the body of each with parameters of unknown kinds.
func (f *formula) defined(ast *expr.Formula) {
	for _, s := range ast.Statements {
		for _, t := range s.Targets {
			switch t := t.(type) {
			case *expr.Ident:
				f.future[t.Name] = true
			case *expr.Read:
				f.future[t.Name] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, fn := range ast.Functions {
		if seen[fn.Name] {
			f.report(failf(nameNode(fn), expr.Duplicate, "there are two functions %s", fn.Name))
			continue
		}
		seen[fn.Name] = true
		if err := f.functionName(fn); err != nil {
			f.report(err)
			continue
		}
		f.functions[fn.Name] = fn
	}
	f.defining = true
	for _, fn := range ast.Functions {
		if f.functions[fn.Name] != fn {
			continue
		}
		f.c.place = nameNode(fn)
		in := &frame{closed: true, params: map[string]value{}}
		for _, p := range fn.Params {
			in.params[p.Name] = value{kinds: kAny}
		}
		f.active = []string{fn.Name}
		if _, err := f.eval(fn.X, in, false); err != nil {
			f.report(err)
			f.broken[fn.Name] = true
		}
	}
	f.active, f.defining = nil, false
}

// functionName checks the name of a function: a free name, or ATTR.VALUE for a value of an enum attribute.
func (f *formula) functionName(fn *expr.Function) *expr.Error {
	attr, value, isValue := cutLast(fn.Name)
	if f.s == nil && isValue {
		return failf(nameNode(fn), expr.BadFormula, "the formula of an enum names its values without the name of an attribute")
	}
	if !isValue {
		switch {
		case f.s == nil:
			return nil
		case slices.Contains(forms, fn.Name) || reduction.Of(fn.Name) != 0 || builtins[fn.Name].usage != "" && term.Functions[fn.Name] == nil:
			return failf(nameNode(fn), expr.BadFormula, "every formula has a function %s, so this one needs another name", fn.Name)
		case f.sc.What(fn.Name) == "attribute":
			return failf(nameNode(fn), expr.BadFormula, "%s is the name of an attribute, so no function can have it", fn.Name)
		}
		return nil
	}
	a := f.enumAttr(attr)
	if a == nil || a.Type != "enum" {
		e := &expr.Error{Pos: fn.Pos, End: fn.Pos + len(attr), Code: expr.UnknownName, Message: "there is no enum attribute " + attr}
		suggest(e, attr, f.sc.Names())
		return e
	}
	values, _ := f.enumValues(a)
	if !slices.Contains(values, value) && len(values) > 0 {
		f.noValue(fn, value, "the attribute "+attr, values)
		f.broken[fn.Name] = true
	}
	return nil
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
