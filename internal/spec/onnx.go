package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// ONNX says which operator of ONNX an operator computes.
type ONNX struct {
	mapping.Entry
	Span source.Span
	At   map[string]source.Span // the places of its expressions and names
}

// onnx reads an element of the section onnx. Inputs and outputs that it does not list are those of the spec,
// in its order. It stands for several entries if op is a table: one for each operator of ONNX, in whose
// expressions the name op is the value that the operator has in the table.
func (r *reader) onnx(s *Spec, t *tableReader) []*ONNX {
	x := &ONNX{Span: t.span, At: map[string]source.Span{}}
	var ops []mapping.Attr
	several := false
	if e := t.t.Get("op"); e != nil {
		if _, several = e.Value.(*source.Table); several {
			t.each("op", func(e *source.Entry) { ops = append(ops, mapping.Attr{Name: e.Key, Value: r.str(e).V}) })
		}
	}
	x.Body = t.str("body").V
	if !several {
		x.Op = t.str("op").V
	} else if len(ops) == 0 {
		r.list.Add(diag.BadValue, source.SpanOf(t.t.Get("op").Value), "op: want at least one operator of ONNX")
	}
	if (x.Op == "" && !several) == (x.Body == "") {
		r.list.Add(diag.MissingKey, t.span, "want op, the name of an operator of ONNX, or else body, the nodes that compute this one")
	}
	x.Domain = t.str("domain").V
	x.Since, x.Until = r.version(t, "since"), r.version(t, "until")
	if x.Since = max(x.Since, 1); x.Until != 0 && x.Until < x.Since {
		r.list.Add(diag.BadValue, t.span, "until: want a version from %d on, got %d", x.Since, x.Until)
	}
	x.When, x.Times = t.str("when").V, t.str("times").V
	if e := t.take("inputs"); e != nil {
		x.Inputs = r.operands(e, x)
	} else {
		for _, sl := range s.Slots {
			if sl.Role.V == "input" || sl.Role.V == "weight" {
				x.Inputs = append(x.Inputs, mapping.Operand{Slot: sl.Name})
			}
		}
	}
	if e := t.take("outputs"); e != nil {
		x.Outputs = r.operands(e, x)
	} else {
		for _, sl := range s.Slots {
			if sl.Role.V == "output" {
				x.Outputs = append(x.Outputs, mapping.Operand{Slot: sl.Name})
			}
		}
	}
	t.each("let", func(e *source.Entry) {
		x.Let = append(x.Let, mapping.Attr{Name: e.Key, Value: r.str(e).V})
	})
	t.each("attrs", func(e *source.Entry) {
		x.Attrs = append(x.Attrs, mapping.Attr{Name: e.Key, Value: r.onnxValue(e)})
		x.At[e.Key] = e.KeySpan
	})
	t.each("save", func(e *source.Entry) {
		x.Save = append(x.Save, mapping.Attr{Name: e.Key, Value: r.str(e).V})
	})
	if e := t.take("ignore"); e != nil {
		for _, name := range r.strings(e) {
			x.Ignore = append(x.Ignore, name.V)
		}
	}
	// An attribute that an expression reads need not be listed: opgen fmt -s drops it.
	if reads, err := x.Reads(); err == nil && x.Body == "" {
		x.Ignore = slices.DeleteFunc(x.Ignore, func(name string) bool { return slices.Contains(reads, name) })
	}
	t.done()
	if !several {
		return []*ONNX{x}
	}
	var all []*ONNX
	for _, op := range ops {
		all = append(all, x.of(op))
	}
	return all
}

// opName matches the name op in expressions of ONNX, and strings in front of it.
var opName = regexp.MustCompile(`'[^']*'|\bop\b`)

// of returns the entry of one operator of ONNX, with a string in place of the name op.
func (x *ONNX) of(op mapping.Attr) *ONNX {
	put := func(text string) string {
		return opName.ReplaceAllStringFunc(text, func(name string) string {
			if name == "op" {
				return "'" + op.Value + "'"
			}
			return name
		})
	}
	puts := func(list []mapping.Attr) (out []mapping.Attr) {
		for _, a := range list {
			out = append(out, mapping.Attr{Name: a.Name, Value: put(a.Value)})
		}
		return out
	}
	operands := func(list []mapping.Operand) (out []mapping.Operand) {
		for _, o := range list {
			o.Type, o.Shape, o.Expand, o.Permute = put(o.Type), put(o.Shape), put(o.Expand), put(o.Permute)
			out = append(out, o)
		}
		return out
	}
	y := *x
	y.Op, y.When, y.Times, y.Let, y.Attrs, y.Save = op.Name, put(x.When), put(x.Times), puts(x.Let), puts(x.Attrs), puts(x.Save)
	y.Inputs, y.Outputs = operands(x.Inputs), operands(x.Outputs)
	return &y
}

func (r *reader) version(t *tableReader, key string) int {
	n := t.integer(key)
	if n.Set() && n.V < 1 {
		r.list.Add(diag.BadValue, n.Span, "%s: want a version of an operator set, from 1 on, got %d", key, n.V)
	}
	return int(n.V)
}

// operands reads inputs or outputs: names of slots, or tables.
func (r *reader) operands(e *source.Entry, x *ONNX) (out []mapping.Operand) {
	list, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of slots")
		return nil
	}
	for _, n := range list.Elems {
		item := &source.Entry{Key: e.Key, KeySpan: source.SpanOf(n), Value: n}
		if _, ok := n.(*source.Table); !ok {
			s := r.str(item)
			out = append(out, mapping.Operand{Slot: s.V})
			x.At[s.V] = item.KeySpan
			continue
		}
		t := r.sub(item, onnxOperandKeys)
		o := mapping.Operand{Slot: t.str("slot").V, Const: t.str("const").V}
		for key, text := range map[string]*string{"type": &o.Type, "shape": &o.Shape, "expand": &o.Expand, "permute": &o.Permute} {
			*text = t.str(key).V
		}
		x.At[o.Slot+o.Const] = item.KeySpan
		t.done()
		out = append(out, o)
	}
	return out
}

// onnxValue returns an expression: a string is one, and other values stand for themselves.
func (r *reader) onnxValue(e *source.Entry) string {
	if s, ok := e.Value.(*source.Scalar); ok {
		switch v := s.Value.(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'g', -1, 64)
		case int64, bool:
			return fmt.Sprint(v)
		}
	}
	r.wrongKind(e, "an expression")
	return ""
}
