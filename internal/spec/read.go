package spec

import (
	"path"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/source"
)

// Read reads a spec file. The spec is nil if the file is not TOML; otherwise it holds whatever could
// be read, and the findings say what could not.
func Read(filePath, text string, list *diag.List) *Spec {
	root, serr := source.Parse(filePath, text)
	if serr != nil {
		d := list.Add(diag.Syntax, serr.Span, "%s", serr.Message)
		if serr.First.File != nil {
			d.See(serr.First, "first defined here")
		}
		return nil
	}
	r := &reader{list: list}
	t := r.table(root)
	s := &Spec{File: root.File, Base: strings.TrimSuffix(path.Base(filePath), ".toml"), Kind: Operator}
	if e := t.take("edition"); e == nil {
		list.Add(diag.MissingKey, source.Span{File: root.File}, "edition is missing").Hinted("begin the file with edition = %d", Edition)
	} else if n, ok := r.integer(e); ok && n.V != Edition {
		list.Add(diag.BadValue, n.Span, "want edition %d, the only one so far, got %d", Edition, n.V)
	}
	s.Name = t.required("name", "the operator's name, which is also the file's")
	if s.KindNode = t.str("kind"); s.KindNode.Set() {
		s.Kind = Kind(r.oneOf(s.KindNode, Kinds, string(Operator)))
	}
	s.Doc = t.required("doc", "one or more sentences about what it computes")
	s.Category = t.str("category")
	s.Since = t.str("since")
	s.Deprecated = t.str("deprecated")
	if s.Kind == Enum {
		s.Values = r.enumValues(t)
		t.done("an enum spec")
		return s
	}
	s.Family = t.str("family")
	t.each("dtypes", func(e *source.Entry) { s.Types = append(s.Types, r.typeVar(e)) })
	t.each("attrs", func(e *source.Entry) {
		if a := r.attr(e, false); a != nil {
			s.Attrs = append(s.Attrs, a)
		}
	})
	t.each("dims", func(e *source.Entry) {
		s.Dims = append(s.Dims, &Let{Name: e.Key, Key: e.KeySpan, Expr: r.expression(e)})
	})
	t.each("slots", func(e *source.Entry) {
		if sl := r.slot(e); sl != nil {
			s.Slots = append(s.Slots, sl)
		}
	})
	t.each("args", func(e *source.Entry) {
		if a := r.arg(e); a != nil {
			s.Args = append(s.Args, a)
		}
	})
	t.each("require", func(e *source.Entry) {
		if sub := r.sub(e); sub != nil {
			s.Requires = append(s.Requires, &Require{Name: e.Key, Key: e.KeySpan,
				That: sub.required("that", "the condition"), Message: sub.required("message", "what to tell the user")})
			sub.done("a requirement")
		}
	})
	t.each("tasks", func(e *source.Entry) {
		if tk := r.task(e); tk != nil {
			s.Tasks = append(s.Tasks, tk)
		}
	})
	if e := t.take("examples"); e != nil {
		r.tables(e, func(sub *tableReader) { s.Examples = append(s.Examples, r.example(sub)) })
	}
	for _, key := range notYet {
		if e := t.take(key); e != nil {
			list.Add(diag.NotYet, e.KeySpan, "%s is not supported yet", key)
		}
	}
	t.done("a spec")
	return s
}

// notYet lists the top-level keys of the language that this version reads over with a finding.
var notYet = []string{"state", "constraints", "arity", "cost", "sharding", "tiles", "kernels", "numerics", "inplace", "formula", "fuse", "shape_func"}

type reader struct{ list *diag.List }

// tableReader hands out the entries of a table and finally reports those that nobody took.
type tableReader struct {
	r     *reader
	t     *source.Table
	taken map[string]bool
	known []string
}

func (r *reader) table(t *source.Table) *tableReader {
	return &tableReader{r: r, t: t, taken: map[string]bool{}}
}

// sub returns a reader of the table that is an entry's value, or nil with a finding.
func (r *reader) sub(e *source.Entry) *tableReader {
	t, ok := e.Value.(*source.Table)
	if !ok {
		r.wrongKind(e, "a table")
		return nil
	}
	return r.table(t)
}

func (r *reader) wrongKind(e *source.Entry, want string) {
	r.list.Add(diag.WrongKind, source.SpanOf(e.Value), "%s: want %s, got %s", e.Key, want, article(source.Kind(e.Value)))
}

func article(kind string) string {
	if strings.ContainsRune("aeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

func (t *tableReader) take(key string) *source.Entry {
	t.known = append(t.known, key)
	t.taken[key] = true
	return t.t.Get(key)
}

func (t *tableReader) str(key string) Str {
	e := t.take(key)
	if e == nil {
		return Str{}
	}
	return t.r.str(e)
}

func (t *tableReader) required(key, what string) Str {
	e := t.take(key)
	if e == nil {
		t.missing(key, what)
		return Str{}
	}
	s := t.r.str(e)
	if s.Set() && strings.TrimSpace(s.V) == "" {
		t.r.list.Add(diag.BadValue, s.Span(), "%s: want %s, got an empty string", key, what)
	}
	return s
}

func (t *tableReader) missing(key, what string) {
	t.r.list.Add(diag.MissingKey, t.t.Span, "%s is missing: %s", key, what)
}

func (t *tableReader) boolean(key string) Bool {
	e := t.take(key)
	if e == nil {
		return Bool{}
	}
	if sc, ok := e.Value.(*source.Scalar); ok {
		if b, ok := sc.Value.(bool); ok {
			return Bool{b, sc.Span}
		}
	}
	t.r.wrongKind(e, "true or false")
	return Bool{}
}

func (t *tableReader) integer(key string) Int {
	e := t.take(key)
	if e == nil {
		return Int{}
	}
	n, _ := t.r.integer(e)
	return n
}

// each calls f for every entry of the table under key.
func (t *tableReader) each(key string, f func(*source.Entry)) {
	e := t.take(key)
	if e == nil {
		return
	}
	sub, ok := e.Value.(*source.Table)
	if !ok {
		t.r.wrongKind(e, "a table")
		return
	}
	for _, x := range sub.Entries {
		f(x)
	}
}

// done reports the keys that were not taken.
func (t *tableReader) done(what string) {
	for _, e := range t.t.Entries {
		if t.taken[e.Key] {
			continue
		}
		d := t.r.list.Add(diag.UnknownKey, e.KeySpan, "%s has no key %s", what, e.Key)
		if n := nearest.Name(e.Key, t.known); n != "" {
			d.Hinted("did you mean %s?", n)
		} else if len(t.known) <= 12 {
			d.Hinted("keys are %s", strings.Join(t.known, ", "))
		}
	}
}

func (r *reader) str(e *source.Entry) Str {
	if sc, ok := e.Value.(*source.Scalar); ok {
		if v, ok := sc.Value.(string); ok {
			return Str{v, sc}
		}
	}
	r.wrongKind(e, "a string")
	return Str{}
}

func (r *reader) integer(e *source.Entry) (Int, bool) {
	if sc, ok := e.Value.(*source.Scalar); ok {
		if v, ok := sc.Value.(int64); ok {
			return Int{v, sc.Span}, true
		}
	}
	r.wrongKind(e, "an integer")
	return Int{}, false
}

// expression reads a string, or an integer or boolean that stands for itself.
func (r *reader) expression(e *source.Entry) Str {
	if sc, ok := e.Value.(*source.Scalar); ok {
		switch v := sc.Value.(type) {
		case string:
			return Str{v, sc}
		case int64, bool:
			return Str{sc.File.Text[sc.Start:sc.End], sc}
		}
	}
	r.wrongKind(e, "an expression in a string")
	return Str{}
}

func (r *reader) oneOf(s Str, values []string, fallback string) string {
	if slices.Contains(values, s.V) {
		return s.V
	}
	d := r.list.Add(diag.BadValue, s.Span(), "want one of %s, got %q", strings.Join(values, ", "), s.V)
	if n := nearest.Name(s.V, values); n != "" {
		d.Hinted("did you mean %s?", n)
	}
	return fallback
}

// strings reads an array of strings.
func (r *reader) strings(e *source.Entry) []Str {
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of strings")
		return nil
	}
	var out []Str
	for _, n := range a.Elems {
		if s := r.str(&source.Entry{Key: e.Key, Value: n}); s.Set() {
			out = append(out, s)
		}
	}
	return out
}

func (r *reader) tables(e *source.Entry, f func(*tableReader)) {
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of tables, [["+e.Key+"]]")
		return
	}
	for _, n := range a.Elems {
		if sub := r.sub(&source.Entry{Key: e.Key, Value: n}); sub != nil {
			f(sub)
		}
	}
}

func (r *reader) enumValues(t *tableReader) []*EnumValue {
	var values []*EnumValue
	e := t.take("values")
	if e == nil {
		t.missing("values", "the names, each with a sentence about it")
		return nil
	}
	switch v := e.Value.(type) {
	case *source.Table:
		for _, x := range v.Entries {
			name := Str{x.Key, &source.Scalar{Span: x.KeySpan, Value: x.Key}}
			values = append(values, &EnumValue{Name: name, Doc: r.str(x)})
		}
	default:
		for _, s := range r.strings(e) {
			values = append(values, &EnumValue{Name: s})
		}
	}
	return values
}

func (r *reader) typeVar(e *source.Entry) *TypeVar {
	v := &TypeVar{Name: e.Key, Key: e.KeySpan}
	if sub, ok := e.Value.(*source.Table); ok {
		t := r.table(sub)
		if in := t.take("in"); in != nil {
			v.Types = r.strings(in)
		} else {
			t.missing("in", "the allowed element types")
		}
		v.From = t.str("from")
		t.done("a dtype variable")
		return v
	}
	v.Types = r.strings(e)
	return v
}

func (r *reader) attr(e *source.Entry, field bool) *Attr {
	t := r.sub(e)
	if t == nil {
		return nil
	}
	a := &Attr{Name: e.Key, Key: e.KeySpan, Span: t.t.Span, Type: t.required("type", "the attribute's type"), Doc: t.str("doc"),
		Optional: t.boolean("optional"), List: t.boolean("list"), Enum: t.str("enum")}
	if d := t.take("default"); d != nil {
		a.Default = d.Value
	}
	if m := t.take("min"); m != nil {
		a.Min = m.Value
	}
	if m := t.take("max"); m != nil {
		a.Max = m.Value
	}
	if v := t.take("values"); v != nil {
		a.Values = r.strings(v)
	}
	what := "a field"
	if !field {
		what = "an attribute"
		a.Of, a.Binds, a.End = t.str("of"), t.str("binds"), t.boolean("end")
		t.each("fields", func(e *source.Entry) {
			if f := r.attr(e, true); f != nil {
				a.Fields = append(a.Fields, f)
			}
		})
	}
	t.done(what)
	return a
}

func (r *reader) slot(e *source.Entry) *Slot {
	t := r.sub(e)
	if t == nil {
		return nil
	}
	s := &Slot{Name: e.Key, Key: e.KeySpan, Span: t.t.Span,
		Role: t.required("role", "input, weight, output, saved or scratch"),
		Type: t.required("type", "an element type or a dtype variable"),
		Doc:  t.str("doc"), Trainable: t.boolean("trainable"), Per: t.str("per"), AuxLoss: t.boolean("aux_loss")}
	if p := t.take("present"); p != nil {
		s.Present = r.expression(p)
	}
	if b := t.take("below"); b != nil {
		s.Below = r.expression(b)
	}
	if e := t.take("shape"); e != nil {
		if a, ok := e.Value.(*source.Array); ok {
			s.Shape, s.HasShape, s.ShapeSpan = a.Elems, true, a.Span
		} else {
			r.wrongKind(e, "an array of dimensions")
		}
	} else {
		t.missing("shape", "the dimensions, slowest first; [] for a scalar")
	}
	if e := t.take("saved"); e != nil {
		s.Saved = e.Value
		if k := source.Kind(e.Value); k != "string" && k != "boolean" {
			r.wrongKind(e, "true, false or a condition in a string")
			s.Saved = nil
		}
	}
	if e := t.take("variadic"); e != nil {
		if sub := r.sub(e); sub != nil {
			s.Variadic = &Variadic{Span: sub.t.Span, Min: sub.integer("min"), Max: sub.integer("max"), Count: sub.str("count"), Mixed: sub.boolean("mixed")}
			sub.done("variadic")
		}
	}
	if e := t.take("init"); e != nil {
		s.Init = r.initializer(e)
	}
	t.done("a slot")
	return s
}

func (r *reader) initializer(e *source.Entry) *Init {
	if sc, ok := e.Value.(*source.Scalar); ok {
		if v, ok := sc.Value.(string); ok {
			return &Init{Span: sc.Span, Name: Str{v, sc}}
		}
	}
	t, ok := e.Value.(*source.Table)
	if !ok {
		r.wrongKind(e, "the name of an initialiser, or a table with use and its attributes")
		return nil
	}
	in := &Init{Span: t.Span}
	for _, x := range t.Entries {
		if x.Key == "use" {
			in.Name = r.str(x)
		} else {
			in.Attrs = append(in.Attrs, x)
		}
	}
	if t.Get("use") == nil {
		r.list.Add(diag.MissingKey, t.Span, "use is missing: the name of the initialiser")
	}
	return in
}

func (r *reader) arg(e *source.Entry) *Arg {
	t := r.sub(e)
	if t == nil {
		return nil
	}
	a := &Arg{Name: e.Key, Key: e.KeySpan, Type: t.required("type", "the argument's Go type"),
		From: t.required("from", "where its value comes from"), Doc: t.str("doc"), Unchecked: t.boolean("unchecked")}
	t.done("an argument")
	return a
}

func (r *reader) task(e *source.Entry) *Task {
	t := r.sub(e)
	if t == nil {
		return nil
	}
	k := &Task{Name: e.Key, Key: e.KeySpan, Kind: t.str("kind"), Doc: t.str("doc")}
	if o := t.take("over"); o != nil {
		k.Over = r.expression(o)
	}
	if g := t.take("grain"); g != nil {
		k.Grain = r.expression(g)
	}
	access := func(e *source.Entry) *Access { return &Access{Slot: e.Key, Key: e.KeySpan, Value: r.str(e)} }
	t.each("access", func(e *source.Entry) { k.Access = append(k.Access, access(e)) })
	t.each("grads", func(e *source.Entry) { k.Grads = append(k.Grads, access(e)) })
	t.each("steps", func(e *source.Entry) {
		sub := r.sub(e)
		if sub == nil {
			return
		}
		s := &Step{Name: e.Key, Key: e.KeySpan, Doc: sub.str("doc")}
		if o := sub.take("over"); o != nil {
			s.Over = r.expression(o)
		} else {
			sub.missing("over", "how many indices the step runs over")
		}
		if g := sub.take("grain"); g != nil {
			s.Grain = r.expression(g)
		}
		if w := sub.take("when"); w != nil {
			s.When = r.expression(w)
		}
		sub.done("a step")
		k.Steps = append(k.Steps, s)
	})
	if e := t.take("args"); e != nil {
		k.Args = r.strings(e)
	}
	for _, key := range []string{"returns", "constraints", "arity"} {
		if e := t.take(key); e != nil {
			r.list.Add(diag.NotYet, e.KeySpan, "%s is not supported yet", key)
		}
	}
	t.done("a task")
	return k
}

func (r *reader) example(t *tableReader) *Example {
	x := &Example{Span: t.t.Span}
	t.each("attrs", func(e *source.Entry) { x.Attrs = append(x.Attrs, e) })
	for _, e := range t.t.Entries {
		if e.Key != "attrs" {
			x.Inputs = append(x.Inputs, e)
		}
	}
	return x
}
