package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
)

type reader struct {
	list *diag.List
	// seen, unless nil, is told for each known key of each kind of table whether a table has it.
	seen func(what, key string, given bool)
}

// tableReader gives access to the entries of a table. At the end it reports entries that were not read, and
// required ones that are missing.
type tableReader struct {
	r      *reader
	keys   *keys.Table
	t      *source.Table
	span   source.Span // where to report missing keys
	before int         // findings before the table was read
	taken  map[string]bool
	absent [][2]string     // the missing keys, and their meaning
	unread map[string]bool // keys whose values are not tables, or that are misspelled
}

func (r *reader) table(t *source.Table, k *keys.Table) *tableReader {
	return &tableReader{r: r, keys: k, t: t, span: t.Span, before: r.list.Len(), taken: map[string]bool{}, unread: map[string]bool{}}
}

// sub returns a reader of the table that is an entry's value, or nil with a finding.
func (r *reader) sub(e *source.Entry, k *keys.Table) *tableReader {
	t, ok := e.Value.(*source.Table)
	if !ok {
		r.wrongKind(e, "a table")
		return nil
	}
	return r.table(t, k)
}

func (r *reader) wrongKind(e *source.Entry, want string) {
	r.list.Add(diag.WrongKind, source.SpanOf(e.Value), "%s: want %s, got %s", e.Key, want, english.Article(source.Kind(e.Value)))
}

func (t *tableReader) take(key string) *source.Entry {
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

func (t *tableReader) required(key string) Str {
	e := t.take(key)
	if e == nil {
		t.missing(key, t.means(key))
		return Str{}
	}
	s := t.r.str(e)
	if s.Set() && strings.TrimSpace(s.V) == "" {
		t.r.list.Add(diag.BadValue, s.Span(), "%s: want %s, got an empty string", key, t.means(key))
	}
	return s
}

// means returns what a key means; "" if the table has no such key.
func (t *tableReader) means(key string) string {
	if k := t.keys.Key(key); k != nil {
		return k.Doc
	}
	return ""
}

// need takes a required key whose value is no string.
func (t *tableReader) need(key string) *source.Entry {
	e := t.take(key)
	if e == nil {
		t.missing(key, t.means(key))
	}
	return e
}

func (t *tableReader) missing(key, what string) { t.absent = append(t.absent, [2]string{key, what}) }

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
		t.unread[key] = true
		return
	}
	for _, x := range sub.Entries {
		f(x)
	}
}

// misspelled reports the key that was meant to be the given one, which is not there. It returns whether
// there is such a key.
func (r *reader) misspelled(t *source.Table, key string) bool {
	for _, e := range t.Entries {
		if _, scalar := e.Value.(*source.Scalar); scalar && nearest.Name(e.Key, []string{key}) == key {
			r.list.Add(diag.UnknownKey, e.KeySpan, "a spec has no key %s", e.Key).Meant(e.Key, key)
			return true
		}
	}
	return false
}

// done reports the keys that were not taken, and the missing ones unless they are only misspelled. It
// returns whether the table lacks something that it should say: an unknown key alone is no such error.
func (t *tableReader) done() (bad bool) {
	bad = len(t.absent) > 0 || t.r.list.Len() > t.before
	what, known := t.keys.What, t.keys.Names()
	var free []string // known keys that are not there
	for _, k := range known {
		if t.r.seen != nil {
			t.r.seen(what, k, t.t.Get(k) != nil)
		}
		if t.t.Get(k) == nil {
			free = append(free, k)
		}
	}
	for _, e := range t.t.Entries {
		if t.taken[e.Key] {
			continue
		}
		d := t.r.list.Add(diag.UnknownKey, e.KeySpan, "%s has no key %s", what, e.Key)
		if hint := t.keys.Instead[e.Key]; hint != "" {
			d.Hinted("%s", hint)
		} else if n := d.Nearest(e.Key, free); n != "" {
			t.absent = slices.DeleteFunc(t.absent, func(a [2]string) bool { return a[0] == n })
			t.unread[n] = true
		} else if len(known) <= 12 {
			d.Hinted("keys are %s", strings.Join(known, ", "))
		}
	}
	t.reportAbsent()
	return bad || len(t.unread) > 0
}

func (t *tableReader) reportAbsent() {
	for _, a := range t.absent {
		t.r.list.Add(diag.MissingKey, t.span, "%s is missing: %s", a[0], a[1])
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

// expression reads an expression: a string, an integer or a boolean.
func (r *reader) expression(e *source.Entry) Str {
	if sc, ok := e.Value.(*source.Scalar); ok {
		switch v := sc.Value.(type) {
		case string:
			return Str{v, sc}
		case int64, bool:
			return Str{fmt.Sprint(v), sc}
		}
	}
	r.wrongKind(e, "an expression in a string")
	return Str{}
}

// oneOf returns which of the values a string is or, after a finding, was probably meant to be, if any.
func (r *reader) oneOf(s Str, values []string) string {
	if slices.Contains(values, s.V) {
		return s.V
	}
	d := r.list.Add(diag.BadValue, s.Span(), "want one of %s, got %q", strings.Join(values, ", "), s.V)
	return d.Nearest(s.V, values)
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

// oneOrMore reads a string, or an array of strings that is not empty. what is the name of one of them in a
// finding.
func (r *reader) oneOrMore(e *source.Entry, what string) []Str {
	if many, ok := e.Value.(*source.Array); ok {
		if len(many.Elems) == 0 {
			r.list.Add(diag.BadValue, many.Span, "%s: want at least one %s", e.Key, what)
		}
		return r.strings(e)
	}
	if one := r.str(e); one.Set() {
		return []Str{one}
	}
	return nil
}

func (r *reader) tables(e *source.Entry, k *keys.Table, f func(*tableReader)) {
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of tables, [["+e.Key+"]]")
		return
	}
	for _, n := range a.Elems {
		if sub := r.sub(&source.Entry{Key: e.Key, Value: n}, k); sub != nil {
			f(sub)
		}
	}
}
