package driver_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// schema is an operator as ONNX's registry describes it.
type schema struct {
	Name       string       `json:"name"`
	Since      int          `json:"since_version"`
	Attributes []onnxAttr   `json:"attributes"`
	Inputs     []onnxTensor `json:"inputs"`
	Outputs    []onnxTensor `json:"outputs"`
	Types      []struct {
		Var     string   `json:"var"`
		Allowed []string `json:"allowed"`
	} `json:"type_constraints"`
}

type onnxAttr struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Default  any    `json:"default"`
}

type onnxTensor struct {
	Name        string `json:"name"`
	Type        string `json:"type"`   // a type variable, or a type
	Option      string `json:"option"` // single, optional or variadic
	Homogeneous bool   `json:"homogeneous"`
	MinArity    int64  `json:"min_arity"`
}

// onnxElements lists ONNX's element types, by their numbers in attributes, and what specs call them.
var onnxElements = []struct{ onnx, spec string }{
	{"undefined", ""}, {"float", "f32"}, {"uint8", "u8"}, {"int8", "i8"}, {"uint16", "u16"}, {"int16", "i16"}, {"int32", "i32"}, {"int64", "i64"},
	{"string", "string"}, {"bool", "bool"}, {"float16", "f16"}, {"double", "f64"}, {"uint32", "u32"}, {"uint64", "u64"}, {"complex64", "c64"}, {"complex128", "c128"},
	{"bfloat16", "bf16"}, {"float8e4m3fn", "f8e4m3"}, {"float8e4m3fnuz", "f8e4m3fnuz"}, {"float8e5m2", "f8e5m2"}, {"float8e5m2fnuz", "f8e5m2fnuz"},
	{"uint4", "u4"}, {"int4", "i4"}, {"float4e2m1", "f4e2m1"}, {"float8e8m0", "f8e8m0"}, {"uint2", "u2"}, {"int2", "i2"},
}

// attrTypes lists, for each type of an ONNX attribute, the types that a spec may give it. A list has a star.
// In ONNX, booleans, axes and element types are integers, and enums are strings.
var attrTypes = map[string][]string{
	"INT": {"int", "bool", "axis", "dtype"}, "INTS": {"int*", "dims", "axes"},
	"FLOAT": {"float"}, "FLOATS": {"float*"}, "STRING": {"string", "enum"}, "STRINGS": {"string*", "enum*"},
	"GRAPH": {"graph"}, "TENSOR": {"tensor"}, "SPARSE_TENSOR": {"sparse"}, "TYPE_PROTO": {"type"},
}

var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// snake returns an ONNX name in the style of specs: QLinearConv becomes q_linear_conv.
func snake(name string) string {
	for wordEnd.MatchString(name) {
		name = wordEnd.ReplaceAllString(name, "${1}${3}_${2}${4}")
	}
	return strings.ToLower(name)
}

// mismatches says where a spec differs from the schema.
func (sc *schema) mismatches(s *spec.Spec) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if want := fmt.Sprint(sc.Since); s.Since.V != want {
		add("since %s, want %s", s.Since.V, want)
	}
	byRole := map[string][]*spec.Slot{}
	for _, sl := range s.Slots {
		byRole[sl.Role.V] = append(byRole[sl.Role.V], sl)
		if sl.Role.V != "input" && sl.Role.V != "output" {
			add("slot %s is %s, want an input or output", sl.Name, sl.Role.V)
		}
	}
	var all []pair
	for _, side := range []struct {
		role string
		want []onnxTensor
	}{{"input", sc.Inputs}, {"output", sc.Outputs}} {
		have := byRole[side.role]
		if len(have) != len(side.want) {
			add("%d %ss, want %d", len(have), side.role, len(side.want))
			continue
		}
		for i, want := range side.want {
			p := pair{have[i], want}
			if name := snake(want.Name); p.slot.Name != name {
				add("%s %d is named %s, want %s", side.role, i, p.slot.Name, name)
				continue
			}
			all = append(all, p)
			for _, m := range p.mismatches(sc, s) {
				add("%s: %s", p, m)
			}
		}
	}
	out = append(out, ties(sc, all)...)
	return append(out, sc.attrMismatches(s)...)
}

// pair is a slot with its ONNX counterpart.
type pair struct {
	slot *spec.Slot
	onnx onnxTensor
}

func (p pair) String() string { return p.slot.Role.V + " " + p.slot.Name }

func (p pair) mismatches(sc *schema, s *spec.Spec) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	option := "single"
	switch v := p.slot.Variadic; {
	case v != nil:
		option = "variadic"
		if v.Mixed.V == p.onnx.Homogeneous {
			add("mixed is %v, want %v", v.Mixed.V, !p.onnx.Homogeneous)
		}
		if v.Min.V != p.onnx.MinArity {
			add("at least %d tensors, want %d", v.Min.V, p.onnx.MinArity)
		}
		if v.Max.Set() {
			add("at most %d tensors, want any number", v.Max.V)
		}
	case p.slot.Present.V == "caller":
		option = "optional"
	case p.slot.Present.Set():
		option = "there if " + p.slot.Present.V
	}
	if option != p.onnx.Option {
		add("%s, want %s", option, p.onnx.Option)
	}
	have, want := onnxTypes(s, p.slot.Type.V), sc.allowed(p.onnx.Type)
	if more := without(have, want); len(more) > 0 {
		add("has %s", some(more, " besides"))
	}
	if fewer := without(want, have); len(fewer) > 0 {
		add("lacks %s", some(fewer, ""))
	}
	return out
}

// some returns the first of several types and the number of the others.
func some(types []string, word string) string {
	if len(types) == 1 {
		return types[0] + word
	}
	return fmt.Sprintf("%s%s and %d more", types[0], word, len(types)-1)
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(t string) bool { return slices.Contains(b, t) })
}

// allowed returns the types that a type variable of ONNX stands for; a type stands for itself.
func (sc *schema) allowed(typ string) []string {
	for _, c := range sc.Types {
		if c.Var == typ {
			return c.Allowed
		}
	}
	return []string{typ}
}

// onnxTypes returns the types that a slot of a spec may have, as ONNX names them, sorted.
func onnxTypes(s *spec.Spec, typ string) []string {
	var out []string
	if container, inner, ok := strings.Cut(typ, "("); ok {
		for _, t := range onnxTypes(s, strings.TrimSuffix(inner, ")")) {
			out = append(out, container+"("+t+")")
		}
		return out
	}
	for _, v := range s.Types {
		if v.Name == typ {
			for _, t := range v.Types {
				out = append(out, onnxTypes(s, t.V)...)
			}
			slices.Sort(out)
			return out
		}
	}
	for _, e := range onnxElements {
		if e.spec == typ {
			return []string{"tensor(" + e.onnx + ")"}
		}
	}
	return []string{typ}
}

// ties compares which tensors have the same type variable. Such tensors always have the same type. The
// tensors of a mixed slot may differ in type.
func ties(sc *schema, all []pair) []string {
	var out []string
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.slot.Mixed() || b.slot.Mixed() || len(sc.allowed(a.onnx.Type)) == 1 {
				continue
			}
			switch have, want := a.slot.Type.V == b.slot.Type.V, a.onnx.Type == b.onnx.Type; {
			case have && !want:
				out = append(out, fmt.Sprintf("%s and %s have one type variable, in ONNX they have two", a, b))
			case want && !have:
				out = append(out, fmt.Sprintf("%s and %s have two type variables, in ONNX they have one", a, b))
			}
		}
	}
	return out
}

func (sc *schema) attrMismatches(s *spec.Spec) []string {
	var out []string
	attrs := map[string]*spec.Attr{}
	for _, a := range s.Attrs {
		attrs[a.Name] = a
	}
	for _, want := range sc.Attributes {
		name := snake(want.Name)
		if a := attrs[name]; a == nil {
			out = append(out, fmt.Sprintf("attribute %s is missing", name))
		} else if m := want.mismatch(a); m != "" {
			out = append(out, "attribute "+name+m)
		}
		delete(attrs, name)
	}
	for _, a := range s.Attrs {
		if attrs[a.Name] != nil {
			out = append(out, "there is no attribute "+a.Name)
		}
	}
	return out
}

// mismatch says how an attribute of a spec differs, or returns "".
func (want *onnxAttr) mismatch(a *spec.Attr) string {
	typ := a.Type.V
	if a.List.V {
		typ += "*"
	}
	if !slices.Contains(attrTypes[want.Type], typ) {
		return fmt.Sprintf(": type %s, want %s", typ, want.Type)
	}
	switch {
	case want.Required && (a.Default != nil || a.Optional.V):
		return " has a default or is optional, want neither"
	case want.Required:
		return ""
	case want.Default == nil && !a.Optional.V:
		return " is not optional"
	case want.Default == nil:
		return ""
	case want.Default == 0.0 && typ == "dtype" && a.Optional.V: // 0 stands for no element type
		return ""
	case a.Default == nil:
		return fmt.Sprintf(" has no default, want %v", want.Default)
	}
	if have := onnxValue(a, a.Default); !reflect.DeepEqual(have, single(want.Default)) {
		return fmt.Sprintf(": default %v, want %v", have, want.Default)
	}
	return ""
}

// onnxValue returns a value of an attribute as ONNX has it: numbers instead of booleans and element
// types, and floats of 32 bits.
func onnxValue(a *spec.Attr, n source.Node) any {
	if list, ok := n.(*source.Array); ok {
		out := []any{}
		for _, e := range list.Elems {
			out = append(out, onnxValue(a, e))
		}
		return out
	}
	switch v := n.(*source.Scalar).Value.(type) {
	case bool:
		if v {
			return float32(1)
		}
		return float32(0)
	case int64:
		return float32(v)
	case float64:
		return float32(v)
	case string:
		for i, e := range onnxElements {
			if a.Type.V == "dtype" && e.spec == v {
				return float32(i)
			}
		}
		return v
	}
	return nil
}

// single returns a value read from JSON with floats of 32 bits.
func single(v any) any {
	switch v := v.(type) {
	case float64:
		return float32(v)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, single(e))
		}
		return out
	}
	return v
}
