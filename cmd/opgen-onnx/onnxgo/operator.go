package onnxgo

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/shortform"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// attribute is an attribute of a node: the value that the node has, and how Go code gives it.
type attribute struct {
	name     string
	field    string // of Attrs
	value    reflect.Value
	required bool // Defaults takes it
	said     bool // it is required, or differs from its default
}

// attributes returns the attributes of a node in the order of the spec. Those that the operator decodes to
// the same value when they are left out need not be said; those that it does not decode without are required.
func attributes(op *graph.Operator, attrs task.Attrs) ([]attribute, error) {
	data, err := attr.Marshal(attrs)
	if err != nil {
		return nil, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return nil, err
	}
	v := reflect.ValueOf(attrs)
	var list []attribute
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		a := attribute{name: name, field: f.Name, value: v.Field(i)}
		text := given[name]
		delete(given, name)
		rest, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		given[name] = text
		without, err := op.DecodeAttrs(rest)
		a.required = err != nil
		a.said = a.required || !reflect.DeepEqual(reflect.ValueOf(without).Field(i).Interface(), a.value.Interface())
		list = append(list, a)
	}
	return list, nil
}

// packageOf returns the import path of an operator's package.
func packageOf(attrs task.Attrs) string { return reflect.TypeOf(attrs).PkgPath() }

// parameter is what Apply takes behind the attributes.
type parameter struct {
	slot     int
	kind     paramKind
	typ      string // the type of the parameter; "" if it is that of tensors
	variadic bool
}

type paramKind uint8

const (
	ofInput paramKind = iota
	ofCount           // how many tensors of an output are asked for
	ofArgument
)

// parameters returns the parameters of an operator's Apply: its inputs, counts of outputs, and arguments
// without a default.
func parameters(op *graph.Operator) []parameter {
	var list []parameter
	for i := range op.Slots {
		if s := &op.Slots[i]; s.Role == task.RoleInput && (!s.Optional || s.Variadic) {
			list = append(list, parameter{slot: i, variadic: s.Variadic})
		}
	}
	if len(list) > 1 {
		for i := range list {
			list[i].typ = goname.Exported(op.Slots[list[i].slot].Name)
		}
	}
	for i := range op.Slots {
		if op.Slots[i].Asked() {
			list = append(list, parameter{slot: i, kind: ofCount})
		}
	}
	for _, a := range passed(op) {
		if a.Default == "" {
			list = append(list, parameter{slot: a.Slot, kind: ofArgument, typ: goname.Exported(op.Slots[a.Slot].Name), variadic: op.Slots[a.Slot].Variadic})
		}
	}
	return list
}

// passed returns the arguments that callers pass.
func passed(op *graph.Operator) []task.Arg {
	var list []task.Arg
	for _, sig := range op.Signatures {
		for _, a := range sig.Args {
			if a.From == task.FromCall && !slices.ContainsFunc(list, func(b task.Arg) bool { return b.Slot == a.Slot }) {
				list = append(list, a)
			}
		}
	}
	slices.SortFunc(list, func(a, b task.Arg) int { return a.Slot - b.Slot })
	return list
}

// results returns the output slots that Apply returns.
func results(op *graph.Operator) []int {
	var list []int
	for i := range op.Slots {
		if s := &op.Slots[i]; s.Role == task.RoleOutput && (!s.OnRequest || s.Asked()) && !s.AuxLoss {
			list = append(list, i)
		}
	}
	return list
}

// short is a short form of an operator: the function for the value of an enum.
type short struct {
	name   string
	chosen string   // the attribute that the function gives
	must   []string // attributes that it takes behind the inputs, in order
	alike  bool     // its inputs are plain tensors
}

// shortOf returns the short form that computes what the attributes say, if there is one.
func shortOf(op *graph.Operator, attrs []attribute, pkg string) (short, bool) {
	var s short
	var by *attribute
	for i := range attrs {
		a := &attrs[i]
		if !a.required {
			continue
		}
		if isEnum(a.value.Type()) && a.value.Type().PkgPath() == pkg {
			if by != nil {
				return s, false
			}
			by = a
			continue
		}
		s.must = append(s.must, a.name)
	}
	if by == nil {
		return s, false
	}
	values := enumValues(by.value.Type())
	i := slices.Index(values, enumName(by.value))
	if i < 0 {
		return s, false
	}
	s.chosen, s.name = by.name, shortform.Names(values)[i]
	if slices.Contains(shortform.Names(values)[:i], s.name) || declares(op, attrs, s.name) {
		return s, false
	}
	needed := shortform.Needed(op.Formula, by.name+"."+values[i])
	for i := range attrs {
		if a := &attrs[i]; !a.required && isOptional(a.value.Type()) && slices.Contains(needed, a.name) {
			if !a.said {
				return s, false
			}
			s.must = append(s.must, a.name)
		}
	}
	var first *task.Slot
	s.alike = true
	for i := range op.Slots {
		t := &op.Slots[i]
		if t.Role != task.RoleInput {
			continue
		}
		if first == nil {
			first = t
		}
		s.alike = s.alike && t.Type == first.Type && t.Trainable == first.Trainable
	}
	return s, true
}

// declares reports whether the package of an operator has, or may have, another declaration of a name.
func declares(op *graph.Operator, attrs []attribute, name string) bool {
	if slices.Contains([]string{"Apply", "Attrs", "Defaults", "Operator", "Optimizer", "Outputs", "Slot"}, name) || strings.HasPrefix(name, "Slot") || strings.HasSuffix(name, "Task") || strings.HasSuffix(name, "Tensors") {
		return true
	}
	for i := range op.Slots {
		if exported := goname.Exported(op.Slots[i].Name); name == exported || name == "With"+exported {
			return true
		}
	}
	return slices.ContainsFunc(attrs, func(a attribute) bool { return a.field == name || a.value.Type().Name() == name })
}

var stringer = reflect.TypeFor[fmt.Stringer]()

func isEnum(t reflect.Type) bool {
	return t.Kind() == reflect.Uint8 && t != reflect.TypeFor[dtype.Type]() && t.Implements(stringer)
}

// isOptional reports whether attributes of a type may be absent.
func isOptional(t reflect.Type) bool {
	_, ok := reflect.Zero(t).Interface().(interface{ Has() bool })
	return ok || isEnum(t) || t == reflect.TypeFor[dtype.Type]()
}

func enumName(v reflect.Value) string { return v.Interface().(fmt.Stringer).String() }

// enumValues returns the names of an enum's values in their order.
func enumValues(t reflect.Type) []string {
	var names []string
	for i := 1; i <= math.MaxUint8; i++ {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(i))
		if _, err := json.Marshal(v.Interface()); err != nil {
			break
		}
		names = append(names, enumName(v))
	}
	return names
}

// literal writes values as Go. It collects the packages that they need.
type literal struct {
	own     string // the package whose values are written
	imports map[string]bool
}

func (l *literal) name(pkg, name string) string {
	l.imports[pkg] = true
	return path.Base(pkg) + "." + name
}

// attrPackage is the package of the types of attributes.
var attrPackage = reflect.TypeFor[attr.Opt[int]]().PkgPath()

// value writes the value of an attribute: for one that may be absent, the value that it has.
func (l *literal) value(v reflect.Value) (string, error) {
	switch x := v.Interface().(type) {
	case dtype.Type:
		return l.dtype(x), nil
	case attr.Number:
		return l.number(x), nil
	case attr.Opt[attr.Number]:
		n, _ := x.Get()
		return l.number(n), nil
	case attr.List[int]:
		var parts []string
		for _, n := range x.Values() {
			parts = append(parts, strconv.Itoa(n))
		}
		return l.list("int", parts), nil
	case attr.List[float64]:
		var parts []string
		for _, n := range x.Values() {
			parts = append(parts, l.float(n))
		}
		return l.list("float64", parts), nil
	case attr.Opt[int]:
		n, _ := x.Get()
		return strconv.Itoa(n), nil
	case attr.Opt[float64]:
		n, _ := x.Get()
		return l.float(n), nil
	case attr.Opt[bool]:
		n, _ := x.Get()
		return strconv.FormatBool(n), nil
	case attr.Opt[string]:
		n, _ := x.Get()
		return strconv.Quote(n), nil
	}
	if isEnum(v.Type()) {
		name := goname.Exported(enumName(v))
		pkg := v.Type().PkgPath()
		if pkg == l.own {
			name = v.Type().Name() + name
		}
		return l.name(pkg, name), nil
	}
	switch v.Kind() {
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Float64:
		return l.float(v.Float()), nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.String:
		return strconv.Quote(v.String()), nil
	}
	return "", fmt.Errorf("want an attribute of numbers, words or lists of numbers, got one of type %v", v.Type())
}

// number writes a number of any type.
func (l *literal) number(n attr.Number) string {
	if i, ok := n.Int(); ok {
		return l.name(attrPackage, "Int") + "(" + strconv.FormatInt(i, 10) + ")"
	}
	return l.name(attrPackage, "Real") + "(" + l.float(n.Float()) + ")"
}

// list writes a list of attributes.
func (l *literal) list(element string, parts []string) string {
	name := l.name(attrPackage, "ListOf")
	if len(parts) == 0 || element == "float64" {
		name += "[" + element + "]"
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

func (l *literal) dtype(t dtype.Type) string {
	name := strings.ToUpper(t.String())
	if t == dtype.Bool {
		name = "Bool"
	}
	return l.name(reflect.TypeFor[dtype.Type]().PkgPath(), name)
}

// float writes a number. One that was read as f32 is written with the digits that f32 needs.
func (l *literal) float(x float64) string {
	switch {
	case math.IsNaN(x):
		return l.name("math", "NaN()")
	case math.IsInf(x, 0):
		sign := 1
		if x < 0 {
			sign = -1
		}
		return l.name("math", fmt.Sprintf("Inf(%d)", sign))
	case x == 0 && math.Signbit(x):
		return l.name("math", "Copysign(0, -1)")
	case math.Abs(x) == math.MaxFloat32:
		if x < 0 {
			return "-" + l.name("math", "MaxFloat32")
		}
		return l.name("math", "MaxFloat32")
	}
	long := strconv.FormatFloat(x, 'g', -1, 64)
	if math.Abs(x) < 1e6 && math.Abs(x) >= 1e-4 {
		long = strconv.FormatFloat(x, 'f', -1, 64)
	}
	if f := float32(x); float64(f) == x && len(long) > 12 {
		return "float64(float32(" + strconv.FormatFloat(x, 'g', -1, 32) + "))"
	}
	return long
}

// float32 writes a number that becomes one of f32 where it is read.
func (l *literal) float32(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 || math.Abs(x) == math.MaxFloat32 {
		return l.float(x)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}

// argument writes the value of an argument of the call.
func (l *literal) argument(v any) (string, error) {
	switch v := v.(type) {
	case float64:
		return l.float(v), nil
	case int, int64, bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("want an argument that is a number or a truth value, got %T", v)
}
