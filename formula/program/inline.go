package program

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/task"
)

// callee is an operator that formulas can inline.
type callee struct {
	task.Callee
	formula *expr.Formula // parsed formula; nil before the first inlining
}

// application is a call of an operator on tensors, within a formula.
type application struct {
	of      *callee
	tensors map[string]int // the arguments, by slot
	attrs   map[string]value
}

// inlineElement lowers an element of an inlined operator's output, such as softmax(x, axis = 1)[n, k].
func (b *builder) inlineElement(n *expr.Inline, sc *scope) (value, error) {
	id, err := b.inline(n.Call, n.Output, sc)
	if err != nil {
		return value{}, err
	}
	t := b.program.Tensors[id]
	r := &term.Read{Tensor: id, Count: 1, Text: t.Name}
	if err := b.indexOf(r, n.At, sc); err != nil {
		return value{}, err
	}
	return value{node: b.paired(&term.Term{Op: term.Element, Kind: t.Kind, Read: r})}, nil
}

// inline inlines the call of an operator, and returns the tensor of its output with the given name; "" is the
// first one. Equal calls are inlined once.
func (b *builder) inline(n *expr.Call, output string, sc *scope) (int, error) {
	if b.depth++; b.depth > maxDepth {
		return 0, fmt.Errorf("%s applies itself", n.Func)
	}
	defer func() { b.depth-- }()
	a, err := b.application(n, sc)
	if err != nil {
		return 0, err
	}
	if output == "" {
		output = a.of.Slots[slices.IndexFunc(a.of.Slots, func(s task.CalleeSlot) bool { return s.Role == task.RoleOutput })].Name
	}
	key := a.key() + "." + output
	if id, ok := b.inlined[key]; ok {
		return id, nil
	}
	id, err := b.expand(a, output)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.Func, err)
	}
	b.inlined[key] = id
	return id, nil
}

// application evaluates the arguments of the call of an operator.
func (b *builder) application(n *expr.Call, sc *scope) (*application, error) {
	of := b.callees[n.Func]
	if of == nil {
		return nil, fmt.Errorf("there is no operator %s", n.Func)
	}
	if of.formula == nil {
		p, err := Parse(of.Formula)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Func, err)
		}
		of.formula = p.formula
	}
	a := &application{of: of, tensors: map[string]int{}, attrs: map[string]value{}}
	at := 0
	for _, s := range of.Slots {
		if at == len(n.Args) {
			break
		}
		if s.Role != task.RoleInput && s.Role != task.RoleWeight {
			continue
		}
		id, err := b.argument(n.Args[at], sc)
		if err != nil {
			return nil, err
		}
		a.tensors[s.Name] = id
		at++
	}
	if at < len(n.Args) {
		return nil, fmt.Errorf("%s takes %d tensors, and got %d", n.Func, at, len(n.Args))
	}
	for _, x := range n.Named {
		if i := slices.IndexFunc(of.Slots, func(s task.CalleeSlot) bool { return s.Name == x.Name }); i >= 0 {
			id, err := b.argument(x.X, sc)
			if err != nil {
				return nil, err
			}
			a.tensors[x.Name] = id
			continue
		}
		v, err := b.value(x.X, sc, false)
		if err != nil {
			return nil, err
		}
		a.attrs[x.Name] = v
	}
	return a, a.defaults()
}

// defaults sets the attributes that the call leaves out to their defaults.
func (a *application) defaults() error {
	for _, x := range a.of.Attrs {
		if _, given := a.attrs[x.Name]; given {
			continue
		}
		switch {
		case x.Default != "":
			d := json.NewDecoder(strings.NewReader(x.Default))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				return fmt.Errorf("%s.%s: %w", a.of.Name, x.Name, err)
			}
			a.attrs[x.Name] = decoded(v)
		case x.Optional:
			a.attrs[x.Name] = value{}
		default:
			return fmt.Errorf("%s wants the attribute %s", a.of.Name, x.Name)
		}
	}
	return nil
}

// key returns a text that identifies a call: it is equal for calls of the same operator with the same tensors
// and attributes.
func (a *application) key() string {
	s := cmp.Or(a.of.Full, a.of.Name) + "("
	for _, x := range a.of.Slots {
		if id, ok := a.tensors[x.Name]; ok {
			s += fmt.Sprintf("%s=%d,", x.Name, id)
		}
	}
	for _, x := range a.of.Attrs {
		s += x.Name + "=" + a.attrs[x.Name].key() + ","
	}
	return s + ")"
}

// key returns a text that identifies a value: it is equal for equal values.
func (v value) key() string {
	switch {
	case v.node != nil:
		return v.node.String()
	case v.run != nil:
		s := "["
		for _, n := range v.run.items {
			s += n.String() + " "
		}
		return s + "]"
	case v.fields != nil:
		return fmt.Sprint(v.fields)
	}
	return v.text
}

// unfolded returns the definition of x, with its indices substituted, if x is an element of an inlined
// operator's output with a sole definition. So y[n, k] = op(...)[n, k] computes y directly, and does not copy
// a temporary.
func (b *builder) unfolded(x *term.Term) *term.Term {
	if x.Op != term.Element || !slices.Contains(slices.Collect(maps.Values(b.inlined)), x.Read.Tensor) || x.Read.ByNumber || x.Read.Else != nil {
		return x
	}
	var by *Statement
	for _, s := range b.program.Statements {
		switch {
		case s.Target != x.Read.Tensor:
		case by != nil || s.Left.ByNumber:
			return x
		default:
			by = s
		}
	}
	if by == nil {
		return x
	}
	values := map[*term.Variable]*term.Term{}
	for i, l := range by.Left.Idx {
		if l.Op != term.Index || values[l.Var] != nil {
			return x
		}
		values[l.Var] = x.Read.Idx[i]
	}
	return by.Value.Substitute(values)
}

// argument returns the tensor that is an argument of an inlined operator: a named tensor, or the output of a
// nested call.
func (b *builder) argument(n expr.Node, sc *scope) (int, error) {
	switch n := n.(type) {
	case *expr.Ident:
		if id, ok := b.byName[n.Name]; ok {
			if s := b.slots[n.Name]; s != nil && s.Variadic {
				return 0, fmt.Errorf("%s is a list of tensors, and no operator can be applied to it here", n.Name)
			}
			return id, nil
		}
		return 0, fmt.Errorf("want a tensor, got %s", n.Name)
	case *expr.Call:
		return b.inline(n, "", sc)
	}
	return 0, fmt.Errorf("want the name of a tensor or an operator that is applied to one")
}

// calleesIn returns the operators that the formula of an inlined operator may inline.
func (b *builder) calleesIn(of *callee) map[string]*callee {
	if len(of.Callees) == 0 {
		return b.callees
	}
	return calleesOf(of.Callees)
}

func calleesOf(list []task.Callee) map[string]*callee {
	byName := map[string]*callee{}
	for _, c := range list {
		byName[c.Name] = &callee{Callee: c}
	}
	return byName
}

// nameOf returns the name of a tensor for printing: name, or the prefixed name in an inlined formula.
func (b *builder) nameOf(id int, name string) string {
	if b.prefix == "" {
		return name
	}
	return b.program.Tensors[id].Name
}

// expand lowers the statements of an operator's formula into the program, and returns the tensor of an
// output.
func (b *builder) expand(a *application, output string) (int, error) {
	in := &builder{program: b.program, byName: map[string]int{}, callees: b.calleesIn(a.of), inlined: b.inlined, names: b.names, prefix: a.of.Name + ".",
		env:       &environment{map[string]value{}, map[string]bool{}, map[string]string{}, map[string][]value{}},
		functions: map[string]*expr.Function{}, conditional: map[*expr.Function]bool{}, slots: map[string]*Slot{}, assigned: b.assigned, ranges: map[string]extent{}, perTensor: map[string]bool{}, pairs: b.pairs, seconds: b.seconds,
		depth: b.depth, size: b.size, spans: b.spans, far: b.far, narrowed: b.narrowed, unsettled: b.unsettled}
	for _, fn := range a.of.formula.Functions {
		in.functions[fn.Name] = fn
	}
	in.env.values["iteration"] = b.env.values["iteration"]
	for name := range expr.Constants {
		in.env.values[name] = b.env.values[name]
	}
	for name, v := range a.attrs {
		in.env.attrs[name], in.env.values[name] = true, v
	}
	if err := in.bindTensors(a); err != nil {
		return 0, err
	}
	if err := in.presence(a, output); err != nil {
		return 0, err
	}
	in.written = a.of.formula.Statements
	statements := withoutGradients(a.of.formula) // the whole formula's gradients are derived
	if _, err := in.statements(a.of.formula, statements); err != nil {
		return 0, err
	}
	b.size = in.size
	id, ok := in.byName[output]
	if !ok {
		return 0, fmt.Errorf("there is no output %s here", output)
	}
	return id, nil
}
