package spec

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/dtype"
)

// Read reads a spec file. The spec holds what could be read; findings report the rest. If its kind is
// unknown, the kind is "" and the spec holds the header only. If the file is not TOML, the spec holds
// nothing.
func Read(filePath, text string, list *diag.List) *Spec {
	return read(filePath, text, &reader{list: list})
}

func read(filePath, text string, r *reader) *Spec {
	list := r.list
	s := &Spec{Base: strings.TrimSuffix(path.Base(filePath), ".toml")}
	if !source.PlainPath(filePath) {
		at := source.Span{File: &source.File{Path: filePath, Text: text}}
		list.Add(diag.FileName, at, "want a path of letters, digits, spaces and the characters -_.+@~, got %q", filePath)
		return s
	}
	root, serr := source.Parse(filePath, text)
	if serr != nil {
		d := list.Add(diag.Syntax, serr.Span, "%s", serr.Message)
		if serr.First.File != nil {
			d.See(serr.First, "first defined here")
		}
		return s
	}
	if s.File = root.File; len(root.Entries) == 0 {
		list.Add(diag.MissingKey, source.Span{File: root.File}, "the file is empty").Hinted("opgen new %s writes a spec to begin with", s.Base)
		return s
	}
	t := r.table(root, specKeys)
	t.span = source.Span{File: root.File}
	s.Unread, s.Kind = t.unread, Operator
	if n := t.integer("edition"); n.Set() && n.V != Edition {
		list.Add(diag.BadValue, n.Span, "want edition %d, the only one so far, got %d", Edition, n.V)
	}
	if root.Get("name") != nil {
		s.Name = t.required("name")
	} else {
		t.take("name")
		s.Name = Str{s.Base, &source.Scalar{Span: t.span, Value: s.Base}}
	}
	if s.KindNode = t.str("kind"); s.KindNode.Set() {
		s.Kind = Kind(r.oneOf(s.KindNode, kindNames))
	} else if root.Get("kind") != nil {
		s.Kind = ""
	} else if r.misspelled(root, "kind") {
		s.Kind = ""
	}
	s.Doc = t.required("doc")
	if s.Kind == Enum {
		t.keys = enumKeys
		s.Formula = t.str("formula")
		s.Values = r.enumValues(t)
		if e := root.Get("values"); e != nil {
			s.ValuesSpan = source.SpanOf(e.Value)
		}
		t.done()
		return s
	}
	if s.Kind == "" {
		t.reportAbsent()
		return s // its other keys depend on its kind
	}
	s.Family, s.Category = t.str("family"), t.str("category")
	s.followCategory()
	s.Since, s.Deprecated = t.str("since"), t.str("deprecated")
	s.Formula = t.str("formula")
	t.each("dtypes", func(e *source.Entry) { s.Types = append(s.Types, r.typeVar(e)) })
	if root.Get("dtypes") == nil {
		s.followTypes(root.Get("slots"))
	}
	t.each("attrs", func(e *source.Entry) { s.Attrs = append(s.Attrs, r.attr(e, false)) })
	t.each("dims", func(e *source.Entry) {
		s.Dims = append(s.Dims, r.let(e))
	})
	t.each("slots", func(e *source.Entry) { s.Slots = append(s.Slots, r.slot(e, s.Types)) })
	s.followSlots(root.Get("dtypes") != nil)
	t.each("args", func(e *source.Entry) { s.Args = append(s.Args, r.arg(e)) })
	t.each("require", func(e *source.Entry) {
		if sub := r.sub(e, requireKeys); sub != nil {
			s.Requires = append(s.Requires, &Require{Name: e.Key, Key: e.KeySpan,
				That: sub.required("that"), Message: sub.required("message")})
			sub.done()
		}
	})
	t.each("tasks", func(e *source.Entry) { s.Tasks = append(s.Tasks, r.task(e)) })
	t.each("tiles", func(e *source.Entry) {
		if x := r.tiles(e); x != nil {
			s.Tiles = append(s.Tiles, x)
		}
	})
	t.each("cost", func(e *source.Entry) {
		if sub := r.sub(e, costKeys); sub != nil {
			s.Costs = append(s.Costs, r.cost(e, sub))
		}
	})
	if e := t.take("kernels"); e != nil {
		s.CUDA = r.kernels(e)
	}
	if e := t.take("sharding"); e != nil {
		if sub := r.sub(e, shardingKeys); sub != nil {
			s.Shards = append(r.shards(sub, "split", false), r.shards(sub, "reduce", true)...)
			sub.done()
		}
	}
	if e := t.take("onnx"); e != nil {
		r.tables(e, onnxKeys, func(sub *tableReader) { s.ONNX = append(s.ONNX, r.onnx(s, sub)...) })
	}
	if e := t.take("examples"); e != nil {
		r.tables(e, exampleKeys, func(sub *tableReader) { s.Examples = append(s.Examples, r.examples(s, sub)...) })
	}
	s.Validate = t.str("validate")
	r.rewrites(s, t)
	s.ShapeFunc = root.Get("shape_func") != nil
	for _, key := range notYet {
		if e := t.take(key); e != nil {
			list.Add(diag.NotYet, e.KeySpan, "the key %s is not supported yet", key)
		}
	}
	t.done()
	s.follow()
	slices.SortStableFunc(s.Tasks, func(x, y *Task) int {
		return cmp.Compare(slices.Index(taskOrder, x.Name), slices.Index(taskOrder, y.Name))
	})
	return s
}

// taskOrder lists tasks in the order in which they run, which is the one that everything lists them in.
// Others come first, and are findings.
var taskOrder = []string{"init", "forward", "backward", "update", "cleanup"}

// notYet lists the top-level keys of the language for which this version has a finding only.
var notYet = []string{"numerics", "expand", "shape_func"}

func (r *reader) enumValues(t *tableReader) []*EnumValue {
	var values []*EnumValue
	e := t.need("values")
	if e == nil {
		t.unread["values"] = true
		return nil
	}
	switch v := e.Value.(type) {
	case *source.Table:
		for _, x := range v.Entries {
			name := Str{x.Key, &source.Scalar{Span: x.KeySpan, Value: x.Key}}
			values = append(values, &EnumValue{Name: name, Doc: r.str(x)})
		}
	case *source.Scalar:
		r.wrongKind(e, "a table of names, or an array of strings")
		t.unread["values"] = true
	default:
		before := r.list.Len()
		for _, s := range r.strings(e) {
			values = append(values, &EnumValue{Name: s})
		}
		t.unread["values"] = r.list.Len() > before
	}
	return values
}

func (r *reader) typeVar(e *source.Entry) *TypeVar {
	v := &TypeVar{Name: e.Key, Key: e.KeySpan}
	if sub, ok := e.Value.(*source.Table); ok {
		t := r.table(sub, dtypeKeys)
		if in := t.need("in"); in != nil {
			v.Types, v.TypesSpan = elementTypesOf(r.strings(in)), source.SpanOf(in.Value)
		}
		if from := t.take("from"); from != nil {
			v.From = r.oneOrMore(from, "attribute, dtype variable or element type")
		}
		v.Bad = t.done()
		return v
	}
	before := r.list.Len()
	v.Types, v.TypesSpan = elementTypesOf(r.strings(e)), source.SpanOf(e.Value)
	v.Bad = r.list.Len() > before
	return v
}

// elementTypesOf puts the element types for which words such as floating stand in the place of the words.
func elementTypesOf(names []Str) []Str {
	var out []Str
	for _, n := range names {
		types := dtype.Named(n.V)
		if types == nil {
			out = append(out, n)
		}
		for _, t := range types {
			out = append(out, Str{t.String(), n.Node})
		}
	}
	return out
}

func (r *reader) let(e *source.Entry) *Let {
	l := &Let{Name: e.Key, Key: e.KeySpan}
	if _, ok := e.Value.(*source.Table); !ok {
		l.Expr = r.expression(e)
		return l
	}
	t := r.sub(e, dimKeys)
	l.Func = t.required("shape_func")
	t.done()
	return l
}

func (r *reader) attr(e *source.Entry, field bool) *Attr {
	k := attrKeys
	if field {
		k = fieldKeys
	}
	t := r.sub(e, k)
	if t == nil {
		return &Attr{Name: e.Key, Key: e.KeySpan, Bad: true}
	}
	a := &Attr{Name: e.Key, Key: e.KeySpan, Span: t.t.Span, Type: t.required("type"), Doc: t.str("doc"),
		Optional: t.boolean("optional"), List: t.boolean("list"), Len: t.integer("len"), Enum: t.str("enum")}
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
		a.Values, a.ValuesSpan = r.strings(v), source.SpanOf(v.Value)
	}
	if !field {
		a.Of, a.Binds, a.End = t.str("of"), t.str("binds"), t.boolean("end")
		t.each("fields", func(e *source.Entry) { a.Fields = append(a.Fields, r.attr(e, true)) })
	}
	a.Bad = t.done()
	return a
}

// slot reads a slot. Its type is the dtype variable of the spec if there is one, and the slot says nothing
// else.
func (r *reader) slot(e *source.Entry, variables []*TypeVar) *Slot {
	t := r.sub(e, slotKeys)
	if t == nil {
		return &Slot{Name: e.Key, Key: e.KeySpan, Bad: true}
	}
	s := &Slot{Name: e.Key, Key: e.KeySpan, Span: t.t.Span,
		Role: t.required("role"),
		Doc:  t.str("doc"), Trainable: t.boolean("trainable"), Per: t.str("per"), AuxLoss: t.boolean("aux_loss"),
		Count: t.str("count")}
	if t.t.Get("type") == nil && len(variables) == 1 {
		t.take("type")
		s.Type = Str{variables[0].Name, &source.Scalar{Span: e.KeySpan, Value: variables[0].Name}}
	} else {
		s.Type = t.required("type")
	}
	if p := t.take("present"); p != nil {
		s.Present = r.expression(p)
	}
	if b := t.take("below"); b != nil {
		s.Below = r.expression(b)
	}
	if x := t.take("except"); x != nil {
		s.Except = r.expression(x)
	}
	if e := t.need("shape"); e != nil {
		if a, ok := e.Value.(*source.Array); ok {
			s.Shape, s.HasShape, s.ShapeSpan = a.Elems, true, a.Span
		} else {
			r.wrongKind(e, "an array of dimensions")
		}
	}
	if e := t.take("saved"); e != nil {
		s.Saved = e.Value
		if k := source.Kind(e.Value); k != "string" && k != "boolean" {
			r.wrongKind(e, "true, false or a condition in a string")
			s.Saved = nil
		}
	}
	if e := t.take("variadic"); e != nil {
		if sub := r.sub(e, slotVariadicKeys); sub != nil {
			s.Variadic = &Variadic{Span: sub.t.Span, Min: sub.integer("min"), Max: sub.integer("max"), Optional: sub.boolean("optional"), Mixed: sub.boolean("mixed")}
			if c := sub.take("count"); c != nil {
				s.Variadic.Count = r.expression(c)
			}
			sub.done()
		}
	}
	if e := t.take("init"); e != nil {
		s.Init = r.initializer(e)
	}
	s.Bad = t.done()
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
		r.wrongKind(e, "the name of an initializer, or a table with use and its attributes")
		return &Init{Span: source.SpanOf(e.Value)}
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
		r.list.Add(diag.MissingKey, t.Span, "use is missing: the name of the initializer")
	}
	return in
}

func (r *reader) arg(e *source.Entry) *Arg {
	t := r.sub(e, argKeys)
	if t == nil {
		return &Arg{Name: e.Key, Key: e.KeySpan, Bad: true}
	}
	a := &Arg{Name: e.Key, Key: e.KeySpan, Type: t.str("type"), Doc: t.str("doc"), Unchecked: t.boolean("unchecked")}
	if f := t.need("from"); f != nil {
		a.From = r.expression(f)
	}
	if d := t.take("default"); d != nil {
		a.Default = d.Value
	}
	if e := t.take("variadic"); e != nil {
		if sub := r.sub(e, argVariadicKeys); sub != nil {
			a.Variadic = &Variadic{Span: sub.t.Span, Min: sub.integer("min"), Max: sub.integer("max")}
			sub.done()
		}
	}
	a.Bad = t.done()
	return a
}

func (r *reader) task(e *source.Entry) *Task {
	t := r.sub(e, taskKeys)
	if t == nil {
		return &Task{Name: e.Key, Key: e.KeySpan, Bad: true}
	}
	k := &Task{Name: e.Key, Key: e.KeySpan, Kind: t.str("kind"), Doc: t.str("doc")}
	if o := t.take("over"); o != nil {
		k.Over, k.Inner = r.domain(o)
	}
	if g := t.take("grain"); g != nil {
		k.Grain = r.expression(g)
	}
	k.Elementwise = t.boolean("elementwise")
	access := func(e *source.Entry) *Access { return &Access{Slot: e.Key, Key: e.KeySpan, Value: r.str(e)} }
	t.each("access", func(e *source.Entry) { k.Access = append(k.Access, access(e)) })
	t.each("grads", func(e *source.Entry) { k.Grads = append(k.Grads, access(e)) })
	t.each("steps", func(e *source.Entry) {
		sub := r.sub(e, stepKeys)
		if sub == nil {
			k.Steps = append(k.Steps, &Step{Name: e.Key, Key: e.KeySpan})
			return
		}
		s := &Step{Name: e.Key, Key: e.KeySpan, Doc: sub.str("doc")}
		if o := sub.need("over"); o != nil {
			s.Over, s.Inner = r.domain(o)
		}
		if g := sub.take("grain"); g != nil {
			s.Grain = r.expression(g)
		}
		s.Elementwise = sub.boolean("elementwise")
		if w := sub.take("when"); w != nil {
			s.When = r.expression(w)
		}
		sub.done()
		k.Steps = append(k.Steps, s)
	})
	if e := t.take("args"); e != nil {
		k.Args, k.Listed = r.strings(e), true
	}
	if e := t.take("constraints"); e != nil {
		k.Constraints, k.Declared = r.constraints(e), true
	}
	if e := t.take("returns"); e != nil {
		k.Returns = r.oneOrMore(e, "argument")
	}
	k.Bad = t.done()
	return k
}

// shards reads the dimensions under a key of sharding: names, or tables with a name and a condition.
func (r *reader) shards(t *tableReader, key string, partial bool) []*Shard {
	e := t.take(key)
	if e == nil {
		return nil
	}
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of dimensions")
		return nil
	}
	var shards []*Shard
	for _, n := range a.Elems {
		s := &Shard{Partial: partial}
		if sub, ok := n.(*source.Table); ok {
			st := r.table(sub, shardKeys)
			s.Dim = st.required("dim")
			if w := st.take("when"); w != nil {
				s.When = r.expression(w)
			}
			st.done()
		} else {
			s.Dim = r.str(&source.Entry{Key: key, Value: n})
		}
		if s.Dim.Set() {
			shards = append(shards, s)
		}
	}
	return shards
}

func (r *reader) cost(e *source.Entry, t *tableReader) *Cost {
	c := &Cost{Task: e.Key, Key: e.KeySpan}
	if f := t.need("flops"); f != nil {
		c.Flops = r.expression(f)
	}
	if b := t.take("bytes"); b != nil {
		c.Bytes = r.expression(b)
	}
	t.done()
	return c
}
