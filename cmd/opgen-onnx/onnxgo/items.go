package onnxgo

import (
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// item is a statement of the package: the call of an operator, or of a function that holds others. Its text
// is made of pieces, so that equal statements are found and what differs becomes a parameter.
type item struct {
	pieces  []piece
	result  int    // the value that it gives
	short   string // what it does, in a word
	several bool   // it gives several tensors
	fn      *function
	inner   []*item // of a call of a function: its statements, as they are in this call
}

// stored is a variable of a node: its slot and its value.
type stored struct {
	slot  string
	value safetensors.Tensor
}

type pieceKind uint8

const (
	text   pieceKind = iota
	tensor           // a value
	number           // a constant: of type int, float64 or bool
	given            // an extent that a caller chooses
	named            // the name of a node
	bound            // a parameter of the function
	group            // pieces that are left out if they are unsaid and constant
)

// piece is a part of the text of a statement.
type piece struct {
	kind   pieceKind
	text   string // of a constant or an extent, too
	typ    string // of a constant
	hint   string // what a constant or a name means, in a word
	value  int    // of a tensor
	unsaid bool   // of a group
	inner  []piece
	names  []string // that the file suggests for a node, the best first
	of     string   // what the statement around a name does, in a word
	stores []stored // the variables of the node
}

func say(format string, args ...any) piece {
	return piece{kind: text, text: fmt.Sprintf(format, args...)}
}

// leaves calls a function with all pieces that are no groups.
func leaves(pieces []piece, do func(*piece)) {
	for i := range pieces {
		if pieces[i].kind == group {
			leaves(pieces[i].inner, do)
		} else {
			do(&pieces[i])
		}
	}
}

// writer makes statements of the nodes of a network.
type writer struct {
	*builder
	literal
	values      map[graph.Tensor]piece // what reads a tensor
	next        int                    // the number of the next value
	items       []*item
	helpers     map[string]bool
	uses        map[graph.Tensor]int // how often nodes and outputs read a tensor
	weights     map[graph.Tensor]int // how often weight slots hold a tensor
	root        string               // the folder of the packages of operators
	has         map[string]bool      // operators of the catalogue
	several     map[int]bool         // values that are several tensors
	taken       map[string]bool      // names of the package
	symbolNames map[int]string       // the names of extents that callers choose
}

// newWriter returns a writer for what a builder has built.
func newWriter(b *builder, operators []*graph.Operator) *writer {
	w := &writer{builder: b, literal: literal{imports: map[string]bool{}}, values: map[graph.Tensor]piece{}, helpers: map[string]bool{}, uses: map[graph.Tensor]int{}, weights: map[graph.Tensor]int{}, has: map[string]bool{}, several: map[int]bool{}}
	for _, o := range operators {
		w.has[o.Name] = true
	}
	for i := range b.ports {
		w.values[b.builds[0].inputs[i]] = piece{kind: tensor, value: i}
	}
	w.next = len(b.ports)
	w.symbolNames = w.extentNames()
	return w
}

// write makes the statements.
func (w *writer) write() error {
	first := &w.builds[0]
	live := make([]bool, len(first.nodes))
	read := func(t graph.Tensor) {
		w.uses[t]++
		if p, ok := first.places[t]; ok && p.node >= 0 {
			live[p.node] = true
		}
	}
	for _, t := range first.network.Outputs {
		read(t)
	}
	for i := len(first.nodes) - 1; i >= 0; i-- {
		n := first.nodes[i]
		if !live[i] {
			continue
		}
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				switch s := &n.Op.Slots[slot]; {
				case s.Role == task.RoleInput:
					read(t)
				case s.Role == task.RoleWeight && t.Node() == n:
				case s.Role == task.RoleWeight && !w.stored(t):
					read(t)
				case s.Role == task.RoleWeight:
					w.weights[t]++
					live[first.places[t].node] = true
				}
			}
		}
	}
	for i, n := range first.nodes {
		if !live[i] {
			continue
		}
		if w.root == "" {
			w.root = path.Dir(packageOf(n.Attrs))
		}
		var err error
		if first.network.Origins[n].Op == "" {
			err = w.constant(i)
		} else {
			err = w.call(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// variableOf returns the variable of a node that holds a constant, and what it gives to others.
func variableOf(n *graph.Node) (variable, output graph.Tensor) {
	for slot := range n.Op.Slots {
		switch n.Op.Slots[slot].Role {
		case task.RoleWeight:
			variable = n.Tensor(slot)
		case task.RoleOutput:
			output = n.Tensor(slot)
		}
	}
	return variable, output
}

// stored reports whether a tensor is the variable of a constant.
func (w *writer) stored(t graph.Tensor) bool {
	n := t.Node()
	return n != nil && t.Variable() && w.builds[0].network.Origins[n].Op == ""
}

// own reports whether a variable is a weight of one node only, which then has it by itself.
func (w *writer) own(variable graph.Tensor) bool {
	_, output := variableOf(variable.Node())
	return w.weights[variable] == 1 && w.uses[output] == 0
}

// constant makes the statement of a constant that nodes read: a number, a weight that training changes, or a
// tensor that it does not.
func (w *writer) constant(i int) error {
	first := &w.builds[0]
	n := first.nodes[i]
	o := first.network.Origins[n]
	variable, output := variableOf(n)
	if !w.same(variable.Name()) {
		return w.refuse(first, i, "a constant depends on the extents of inputs")
	}
	if w.own(variable) {
		return nil
	}
	v := first.network.Variables[variable.Name()]
	dims := func(hint string) (list []piece) {
		for k, d := range v.Shape {
			if k > 0 {
				list = append(list, say(", "))
			}
			list = append(list, piece{kind: number, typ: "int", text: strconv.Itoa(d), hint: hint})
		}
		return list
	}
	it := &item{short: "constant"}
	name := piece{kind: named, names: []string{o.Name}}
	switch {
	case w.weights[variable] == 0 && w.has["full"] && output.Elements() == 1 && (v.Type == dtype.F32 && len(v.Shape) == 0 || v.Type == dtype.I64):
		value := piece{kind: number, typ: "float64", hint: "value"}
		helper := "scalar"
		if v.Type == dtype.I64 {
			value.typ, helper = "int", "integer"
			value.text = strconv.FormatInt(int64(binary.LittleEndian.Uint64(v.Data)), 10)
		} else {
			value.text = w.float32(v.Float64s()[0])
		}
		w.helpers[helper] = true
		it.pieces = []piece{say("%s(g, ", helper), value}
		if len(v.Shape) > 0 {
			it.pieces = append(append(it.pieces, say(", ")), dims("size")...)
		}
		it.pieces = append(it.pieces, say(")"))
		w.values[output] = piece{kind: group, inner: it.pieces}
		return nil
	case len(v.Shape) > 0 && v.Type.IsFloat() && w.has["weight"]:
		w.helpers["parameter"] = true
		name.hint, name.stores = "weight", []stored{{"weight", v}}
		it.pieces = append([]piece{say("parameter(g, "), name, say(", %s, ", w.dtype(v.Type))}, dims("features")...)
	default:
		w.helpers["table"] = true
		name.hint, name.stores = "table", []stored{{n.Op.Slots[first.places[variable].slot].Name, v}}
		it.pieces = []piece{say("table(g, "), name, say(", %s", w.dtype(v.Type))}
		if len(v.Shape) > 0 {
			it.pieces = append(append(it.pieces, say(", ")), dims("size")...)
		}
	}
	it.pieces = append(it.pieces, say(")"))
	if w.uses[output] == 1 && w.weights[variable] == 0 && !slices.Contains(first.network.Outputs, output) {
		w.values[output] = piece{kind: group, inner: it.pieces} // where it is read
		return nil
	}
	w.add(it, output)
	return nil
}

// add adds a statement that gives a tensor.
func (w *writer) add(it *item, t graph.Tensor) {
	it.result = w.next
	w.next++
	w.items = append(w.items, it)
	if t.Valid() {
		w.values[t] = piece{kind: tensor, value: it.result}
	}
}

// call makes the statement of a node.
func (w *writer) call(i int) error {
	first := &w.builds[0]
	n := first.nodes[i]
	it := &item{}
	pkg := packageOf(n.Attrs)
	w.literal.own = pkg
	it.short = path.Base(pkg)
	attrs, err := attributes(n.Op, n.Attrs)
	if err != nil {
		return err
	}
	values := map[string][]piece{}
	for k := range attrs {
		a := &attrs[k]
		if !a.said && isOptional(a.value.Type()) {
			continue // it is absent
		}
		if values[a.name], err = w.attribute(i, a); err != nil {
			return err
		}
	}
	s, isShort := shortOf(n.Op, attrs, pkg)
	for _, a := range attrs {
		if a.said && a.name != s.chosen && !slices.Contains(s.must, a.name) {
			isShort = false
		}
	}
	w.imports[pkg] = true
	if isShort {
		it.short = strings.ToLower(s.name)
		it.pieces = append(it.pieces, say("%s.%s(g", path.Base(pkg), s.name))
	} else {
		it.pieces = append(it.pieces, say("%s.Apply(g, %[1]s.Defaults(", path.Base(pkg)))
		comma := false
		for _, a := range attrs {
			if !a.required {
				continue
			}
			if comma {
				it.pieces = append(it.pieces, say(", "))
			}
			comma = true
			it.pieces = append(it.pieces, values[a.name]...)
		}
		it.pieces = append(it.pieces, say(")"))
		for _, a := range attrs {
			if a.required || !a.said && isOptional(a.value.Type()) {
				continue
			}
			inner := append(append([]piece{say(".With%s(", a.field)}, values[a.name]...), say(")"))
			it.pieces = append(it.pieces, piece{kind: group, inner: inner, unsaid: !a.said})
		}
	}
	for _, p := range parameters(n.Op) {
		it.pieces = append(it.pieces, say(", "))
		inner, err := w.parameter(i, p)
		if err != nil {
			return err
		}
		if p.typ != "" && !(isShort && s.alike && p.kind == ofInput) {
			if p.variadic {
				// A list has its type already.
				if p.kind == ofInput {
					inner[0].text = fmt.Sprintf("%s.%s{", path.Base(pkg), p.typ)
				}
			} else {
				inner = append(append([]piece{say("%s.%s(", path.Base(pkg), p.typ)}, inner...), say(")"))
			}
		}
		it.pieces = append(it.pieces, inner...)
	}
	if isShort {
		for _, name := range s.must {
			it.pieces = append(append(it.pieces, say(", ")), values[name]...)
		}
	}
	if err := w.options(i, it); err != nil {
		return err
	}
	it.pieces = append(it.pieces, say(")"))
	leaves(it.pieces, func(p *piece) {
		if p.kind == named {
			p.of = it.short
		}
	})
	w.outputs(i, it)
	return nil
}

// attribute writes the value of an attribute. Integers may depend on extents, also where a number with a
// point holds them.
func (w *writer) attribute(i int, a *attribute) ([]piece, error) {
	first := &w.builds[0]
	var rows [][]int // by build
	list, differs := false, false
	fieldOf := func(b build) reflect.Value { return reflect.ValueOf(b.nodes[i].Attrs).FieldByName(a.field) }
	differing := slices.ContainsFunc(w.builds, func(b build) bool { return !fieldOf(b).Equal(a.value) })
	real := a.value.Kind() == reflect.Float64 && differing
	for _, b := range w.builds {
		f := fieldOf(b)
		switch x := f.Interface().(type) {
		case float64:
			if real && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
				rows = append(rows, []int{int(x)})
			}
		case attr.Number:
			if n, ok := x.Int(); ok && differing {
				rows = append(rows, []int{int(n)})
			}
		case int:
			rows = append(rows, []int{x})
		case attr.Opt[int]:
			if n, ok := x.Get(); ok {
				rows = append(rows, []int{n})
			}
		case attr.List[int]:
			list = true
			rows = append(rows, x.Values())
		}
		differs = differs || !reflect.DeepEqual(f.Interface(), a.value.Interface())
	}
	if differs && (len(rows) != len(w.builds) || slices.ContainsFunc(rows, func(r []int) bool { return len(r) != len(rows[0]) })) {
		return nil, w.refuse(first, i, fmt.Sprintf("the attribute %s depends on the extents of inputs", a.name))
	}
	if len(rows) != len(w.builds) {
		v, err := w.value(a.value)
		if err != nil {
			return nil, w.refuse(first, i, fmt.Sprintf("the attribute %s: %v", a.name, err))
		}
		switch a.value.Interface().(type) {
		case float64, attr.Opt[float64]:
			return []piece{{kind: number, typ: "float64", text: v, hint: a.name}}, nil
		case bool, attr.Opt[bool]:
			return []piece{{kind: number, typ: "bool", text: v, hint: a.name}}, nil
		}
		return []piece{say("%s", v)}, nil
	}
	var out []piece
	var parts [][]piece
	for k := range rows[0] {
		var values []int
		for _, r := range rows {
			values = append(values, r[k])
		}
		e, ok := fit(values, w.symbols, w.operands(i))
		if !ok {
			return nil, w.refuse(first, i, fmt.Sprintf("the attribute %s depends on the extents of inputs in another way than by products, sums and divisions: it is %v", a.name, values))
		}
		parts = append(parts, w.extent(i, e, a.name))
	}
	if real {
		return slices.Concat([]piece{say("float64(")}, parts[0], []piece{say(")")}), nil
	}
	if a.value.Type() == reflect.TypeFor[attr.Number]() {
		return slices.Concat([]piece{say("%s(", w.name(attrPackage, "Int"))}, parts[0], []piece{say(")")}), nil
	}
	if !list {
		return parts[0], nil
	}
	out = append(out, say("%s", strings.TrimSuffix(w.list("int", make([]string, len(parts))), strings.Repeat(", ", max(len(parts)-1, 0))+")")))
	for k, p := range parts {
		if k > 0 {
			out = append(out, say(", "))
		}
		out = append(out, p...)
	}
	return append(out, say(")")), nil
}

// tensorsOf returns the tensors that a node reads.
func tensorsOf(n *graph.Node) (list []graph.Tensor) {
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role == task.RoleInput {
			list = append(list, n.Tensors(slot)...)
		}
	}
	return list
}

// operands returns the extents of the tensors that a node reads, for each dimension in each build.
func (w *writer) operands(i int) (list [][][]int) {
	for k, t := range tensorsOf(w.builds[0].nodes[i]) {
		dims := make([][]int, len(t.Shape()))
		for _, b := range w.builds {
			shape := tensorsOf(b.nodes[i])[k].Shape()
			if len(shape) != len(dims) {
				dims = nil
				break
			}
			for axis, n := range shape {
				dims[axis] = append(dims[axis], n)
			}
		}
		list = append(list, dims)
	}
	return list
}

// extent writes an integer of a node.
func (w *writer) extent(i int, e extent, hint string) []piece {
	if e.constant() {
		return []piece{{kind: number, typ: "int", text: strconv.Itoa(e.offset), hint: hint}}
	}
	const mark = "\x00"
	marked := strings.Split(e.text(func(atom) string { return mark }), mark)
	out := []piece{say("%s", marked[0])}
	for k, a := range slices.Concat(e.atoms, e.under) {
		if a.symbol >= 0 {
			out = append(out, piece{kind: given, text: strconv.Itoa(a.symbol), hint: w.symbolNames[a.symbol]})
		} else {
			w.helpers["extent"] = true
			t := tensorsOf(w.builds[0].nodes[i])[a.operand]
			out = append(out, say("extent("), w.values[t], say(", %d)", a.axis))
		}
		out = append(out, say("%s", marked[k+1]))
	}
	return out
}

// parameter writes what Apply takes behind the attributes.
func (w *writer) parameter(i int, p parameter) ([]piece, error) {
	n := w.builds[0].nodes[i]
	switch p.kind {
	case ofCount:
		return []piece{say("%d", len(n.Tensors(p.slot)))}, nil
	case ofArgument:
		for _, b := range w.builds {
			if !reflect.DeepEqual(b.nodes[i].Passed(p.slot), n.Passed(p.slot)) {
				return nil, w.refuse(&w.builds[0], i, fmt.Sprintf("the argument %s depends on the extents of inputs", n.Op.Slots[p.slot].Name))
			}
		}
		return w.passed(n, p.slot, p.variadic)
	}
	tensors := n.Tensors(p.slot)
	if !p.variadic {
		if len(tensors) == 0 {
			w.imports[graphPackage] = true
			return []piece{say("graph.Tensor{}")}, nil
		}
		return []piece{w.values[tensors[0]]}, nil
	}
	w.imports[graphPackage] = true
	out := []piece{say("[]graph.Tensor{")}
	for k, t := range graph.Placed(tensors, n.Resolved.Given().Places[p.slot]) {
		if k > 0 {
			out = append(out, say(", "))
		}
		if !t.Valid() {
			out = append(out, say("{}"))
			continue
		}
		out = append(out, w.values[t])
	}
	return append(out, say("}")), nil
}

// passed writes the values of an argument of the call.
func (w *writer) passed(n *graph.Node, slot int, variadic bool) ([]piece, error) {
	var out []piece
	for k, v := range n.Passed(slot) {
		s, err := w.argument(v)
		if err != nil {
			return nil, fmt.Errorf("node %s, argument %s: %w", n.Name, n.Op.Slots[slot].Name, err)
		}
		if k > 0 {
			out = append(out, say(", "))
		}
		typ := "int"
		switch v.(type) {
		case float64:
			typ = "float64"
		case bool:
			typ = "bool"
		}
		out = append(out, piece{kind: number, typ: typ, text: s, hint: n.Op.Slots[slot].Name})
	}
	if variadic {
		out = append(append([]piece{say("%s.%s{", path.Base(packageOf(n.Attrs)), goname.Exported(n.Op.Slots[slot].Name))}, out...), say("}"))
	}
	return out, nil
}

var graphPackage = reflect.TypeFor[graph.Tensor]().PkgPath()

// options writes the options of a node: its name, optional inputs, weights that it shares, outputs that it
// gives on request, and arguments that differ from their defaults.
func (w *writer) options(i int, it *item) error {
	first := &w.builds[0]
	n := first.nodes[i]
	base := path.Base(packageOf(n.Attrs))
	var stores []stored
	var names []string
	add := func(pieces ...piece) {
		w.imports[graphPackage] = true
		it.pieces = append(append(it.pieces, say(", ")), pieces...)
	}
	for slot := range n.Op.Slots {
		s := &n.Op.Slots[slot]
		name := base + ".Slot" + goname.Exported(s.Name)
		t := n.Tensor(slot)
		switch {
		case !t.Valid():
		case s.Role == task.RoleInput && s.Optional && !s.Variadic:
			add(say("graph.With(%s, ", name), w.values[t], say(")"))
		case s.Role == task.RoleWeight && t.Node() == n:
			return w.refuse(first, i, fmt.Sprintf("the file has no value for the weight %s", s.Name))
		case s.Role == task.RoleWeight && !w.stored(t):
			add(say("graph.Weight(%s, ", name), w.values[t], say(")"))
		case s.Role == task.RoleWeight && w.own(t):
			if !w.same(t.Name()) {
				return w.refuse(first, i, fmt.Sprintf("the weight %s depends on the extents of inputs", s.Name))
			}
			stores = append(stores, stored{s.Name, first.network.Variables[t.Name()]})
			names = append(names, first.network.Origins[t.Node()].Name)
		case s.Role == task.RoleWeight:
			// Both of the operators that give a variable as a tensor have it in their first slot.
			_, output := variableOf(t.Node())
			add(say("graph.Weight(%s, ", name), w.values[output], say(".Node().Tensor(0))"))
		case s.Role == task.RoleOutput && s.OnRequest && !s.Asked():
			add(say("graph.Request(%s)", name))
		}
	}
	for _, a := range passed(n.Op) {
		if a.Default == "" || n.Passed(a.Slot) == nil {
			continue
		}
		value, err := attr.Marshal(n.Passed(a.Slot))
		if err != nil {
			return err
		}
		if string(value) == a.Default {
			continue
		}
		v, err := w.passed(n, a.Slot, n.Op.Slots[a.Slot].Variadic)
		if err != nil {
			return err
		}
		add(append(append([]piece{say("%s.With%s(", base, goname.Exported(n.Op.Slots[a.Slot].Name))}, v...), say(")"))...)
	}
	if stores != nil {
		add(say("graph.Named("), piece{kind: named, hint: it.short, names: suggested(first.network.Origins[n], names), stores: stores}, say(")"))
	}
	return nil
}

// outputs adds the statement, and says how others read what the node gives.
func (w *writer) outputs(i int, it *item) {
	n := w.builds[0].nodes[i]
	base := path.Base(packageOf(n.Attrs))
	slots := results(n.Op)
	it.several = len(slots) != 1 || n.Op.Slots[slots[0]].Variadic
	w.add(it, graph.Tensor{})
	w.several[it.result] = it.several
	read := func(t graph.Tensor, suffix string) {
		p := piece{kind: tensor, value: it.result}
		if suffix != "" {
			p = piece{kind: group, inner: []piece{p, say("%s", suffix)}}
		}
		w.values[t] = p
	}
	var any string // what has the node
	for _, slot := range slots {
		field := ""
		if len(slots) > 1 {
			field = "." + goname.Exported(n.Op.Slots[slot].Name)
		}
		for k, t := range n.Tensors(slot) {
			suffix := field
			if n.Op.Slots[slot].Variadic {
				suffix += fmt.Sprintf("[%d]", k)
			}
			read(t, suffix)
			if any == "" {
				any = suffix
			}
		}
	}
	for slot := range n.Op.Slots {
		if s := &n.Op.Slots[slot]; s.Role == task.RoleOutput && !slices.Contains(slots, slot) {
			for _, t := range n.Tensors(slot) {
				read(t, fmt.Sprintf("%s.Node().Tensor(int(%s.Slot%s))", any, base, goname.Exported(s.Name)))
			}
		}
	}
}

// suggested returns names for a node with weights: what the names of its weights have in common up to a
// point, such as fc of fc.weight and fc.bias, or the name of the node.
func suggested(o onnx.Origin, weights []string) []string {
	var names []string
	prefix := ""
	for i, name := range weights {
		at := strings.LastIndex(name, ".")
		if at < 0 || i > 0 && name[:at] != prefix {
			prefix = ""
			break
		}
		prefix = name[:at]
	}
	if prefix != "" && !strings.Contains(prefix, "::") {
		names = append(names, prefix)
	}
	if parts := strings.Split(strings.Trim(o.Name, "/"), "/"); len(parts) > 1 {
		names = append(names, strings.Join(parts[:len(parts)-1], "."))
	}
	return names
}
