package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// flaw describes an error in a value.
type flaw struct {
	at      source.Node // the part of the value that has it
	message string
	name    string   // a name that is not among the valid names, or ""
	among   []string // the valid names
}

func flawf(at source.Node, format string, args ...any) *flaw {
	return &flaw{at: at, message: fmt.Sprintf(format, args...)}
}

// flaw reports an error in the value of an attribute.
func (o *operator) flaw(code diag.Code, what string, f *flaw) {
	o.list.Add(code, source.SpanOf(f.at), "%s: %s", what, f.message).Nearest(f.name, f.among)
}

// value checks a value of an attribute in a spec and returns its first error, or nil.
func (o *operator) value(a *spec.Attr, n source.Node) *flaw {
	switch {
	case a.List.V || a.Type.V == "dims" || a.Type.V == "axes":
		return o.listValue(a, n)
	case a.Type.V == "record":
		return o.recordValue(a, n)
	}
	v := any(nil)
	if s, ok := n.(*source.Scalar); ok {
		v = s.Value
	}
	text, isString := v.(string)
	ok := false
	switch a.Type.V {
	case "int", "axis":
		if i, ok := v.(int64); ok {
			if i > math.MaxInt32 || i < math.MinInt32 {
				return flawf(n, "%d is out of range", i)
			}
			return outside(a, n)
		}
	case "float", "number":
		if _, ok := number(n); ok {
			return outside(a, n)
		}
	case "bool":
		_, ok = v.(bool)
	case "string":
		ok = isString
	case "dtype":
		if ok = isString; ok {
			if _, err := dtype.Parse(text); err != nil {
				return &flaw{n, err.Error(), text, dtype.Names()}
			}
		}
	case "enum":
		t := scope.AttrSymbol(a).Type
		if t.Kind == expr.Unknown {
			return nil // its values could not be read; already reported
		}
		if ok = isString; ok && !slices.Contains(t.Values, text) {
			return &flaw{n, fmt.Sprintf("%q is not one of %s", text, strings.Join(t.Values, ", ")), text, t.Values}
		}
	default:
		return nil // the type was reported
	}
	if !ok {
		return flawf(n, "want %s, got %s", wanted[a.Type.V], english.Article(source.Kind(n)))
	}
	return nil
}

// wanted describes the values of each type of attributes.
var wanted = map[string]string{
	"int": "an integer", "axis": "an integer", "float": "a number", "number": "a number", "bool": "true or false", "string": "a string",
	"enum": "the name of a value", "dtype": "the name of an element type",
}

func (o *operator) listValue(a *spec.Attr, n source.Node) *flaw {
	arr, ok := n.(*source.Array)
	if !ok {
		return flawf(n, "want an array, got %s", english.Article(source.Kind(n)))
	}
	if a.Len.Set() && len(arr.Elems) != int(a.Len.V) {
		return flawf(n, "want %s, got %d", english.Count(int(a.Len.V), "value"), len(arr.Elems))
	}
	one := *a
	one.List = spec.Bool{}
	if a.Type.V == "dims" || a.Type.V == "axes" {
		one.Type.V = "int"
	}
	for _, e := range arr.Elems {
		if f := o.value(&one, e); f != nil {
			return f
		}
	}
	return nil
}

func (o *operator) recordValue(a *spec.Attr, n source.Node) *flaw {
	t, ok := n.(*source.Table)
	if !ok {
		return flawf(n, "want a table with the fields of the record, got %s", english.Article(source.Kind(n)))
	}
	if len(a.Fields) == 0 {
		return nil // already reported
	}
	var names []string
	for _, f := range a.Fields {
		names = append(names, f.Name)
	}
	for _, e := range t.Entries {
		i := slices.Index(names, e.Key)
		if i < 0 {
			return &flaw{&source.Scalar{Span: e.KeySpan}, "there is no field " + e.Key, e.Key, names}
		}
		if f := o.value(a.Fields[i], e.Value); f != nil {
			f.message = e.Key + ": " + f.message
			return f
		}
	}
	for _, f := range a.Fields {
		if t.Get(f.Name) == nil && !f.Optional.V && f.Default == nil {
			return flawf(n, "field %s is missing", f.Name)
		}
	}
	return nil
}

func number(n source.Node) (float64, bool) {
	if s, ok := n.(*source.Scalar); ok {
		switch v := s.Value.(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		}
	}
	return 0, false
}

// outside checks that a number lies within an attribute's bounds.
func outside(a *spec.Attr, n source.Node) *flaw {
	v, _ := number(n)
	if math.IsNaN(v) { // attributes are compared with ==
		return flawf(n, "want a number, got nan, which does not equal itself")
	}
	if lo, ok := number(a.Min); ok && v < lo {
		return flawf(n, "%v is below min = %v", v, lo)
	}
	if hi, ok := number(a.Max); ok && v > hi {
		return flawf(n, "%v is above max = %v", v, hi)
	}
	return nil
}

// given checks the attributes that an example or an initializer gives. Each must exist and have a valid
// value. All attributes without a default must be given, except those in skip.
func (o *operator) given(of *spec.Spec, entries []*source.Entry, span source.Span, code diag.Code, skip ...string) {
	var names []string
	for _, a := range of.Attrs {
		names = append(names, a.Name)
	}
	have := map[string]bool{}
	for _, e := range entries {
		have[e.Key] = true
		i := slices.Index(names, e.Key)
		if i < 0 && of.Unread["attrs"] {
			continue
		}
		if i < 0 {
			d := o.list.Add(code, e.KeySpan, "%s has no attribute %s", of.Name.V, e.Key)
			if n := d.Nearest(e.Key, names); n != "" {
				have[n] = true
			} else if len(names) > 0 {
				d.Hinted("attributes are %s", strings.Join(names, ", "))
			}
			continue
		}
		if bad := o.value(of.Attrs[i], e.Value); bad != nil {
			o.flaw(code, e.Key, bad)
		}
	}
	for _, a := range of.Attrs {
		if !have[a.Name] && a.Default == nil && !a.Optional.V && !a.Bad && !slices.Contains(skip, a.Name) {
			o.list.Add(code, span, "attribute %s of %s has no default and is not given", a.Name, of.Name.V)
		}
	}
}
