package format

import (
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// implied lists the keys of specs, with what stands below them, that may follow from other keys.
var implied = []string{"edition", "name", "category", "dtypes", "args", "slots", "tasks", "onnx"}

// simplify drops the keys and the tables without which a spec means the same, as package spec reads it. Such
// a key has no comments.
func simplify(name string, items []*source.Item) []*source.Item {
	name = path.Base(filepath.ToSlash(name))
	want, ok := meaning(name, items)
	if !ok {
		return items
	}
	items = shortened(items)
	for again := true; again; {
		again = false
		for _, at := range candidates(items) {
			less := without(items, at)
			if got, ok := meaning(name, less); ok && alike(reflect.ValueOf(want), reflect.ValueOf(got)) {
				items, again = less, true
				break // the other paths are those of the items before
			}
		}
	}
	return inline(items)
}

// inline moves sections with one name, but slots, to the keys in front of all headers: a header for one line
// says nothing.
func inline(items []*source.Item) []*source.Item {
	head := headers(items)
	var moved, rest []*source.Item
	for i := head; i < len(items); {
		h, end := items[i], behind(items, i)
		if x := alone(items, i, end); x != nil {
			moved = append(moved, x)
		} else {
			rest = append(rest, h)
			rest = append(rest, items[i+1:end]...)
		}
		i = end
	}
	return slices.Concat(items[:head], moved, rest)
}

// alone returns a section as a key with a table; nil if the section stays.
func alone(items []*source.Item, header, end int) *source.Item {
	h := items[header]
	if h.Header != "[" || len(h.Name.Keys) != 1 || h.Name.Text == "slots" || end != header+2 || !bare(h.Above, h.Beside) {
		return nil
	}
	below := func(x *source.Item) bool { return x != h && x.Header != "" && x.Name.Keys[0] == h.Name.Keys[0] }
	x := items[header+1]
	if len(x.Name.Keys) != 1 || !bare(x.Above, x.Beside) || slices.ContainsFunc(items, below) {
		return nil
	}
	v := &source.Literal{Open: "{", Elems: []*source.Element{{Name: x.Name, Value: x.Value}}}
	text := literal(v, nil, "")
	if strings.Contains(text, "\n") || utf8.RuneCountInString(h.Name.Text+" = "+text) > maxEntry {
		return nil
	}
	return &source.Item{Name: h.Name, Value: v}
}

// headers returns the number of the first header, or of items if there is none.
func headers(items []*source.Item) int {
	if i := slices.IndexFunc(items, func(x *source.Item) bool { return x.Header != "" }); i >= 0 {
		return i
	}
	return len(items)
}

// meaning returns the spec that consists of items. ok is false if reading it gives findings.
func meaning(name string, items []*source.Item) (s *spec.Spec, ok bool) {
	var b strings.Builder
	for _, x := range items {
		if x.Header != "" {
			b.WriteString(x.Header + x.Name.Text + strings.Repeat("]", len(x.Header)) + "\n")
			continue
		}
		b.WriteString(x.Name.Text + " = " + literal(x.Value, nil, "") + "\n")
	}
	var list diag.List
	s = spec.Read(name, b.String(), &list)
	return s, list.Empty()
}

var (
	fileType  = reflect.TypeFor[*source.File]()
	spanType  = reflect.TypeFor[source.Span]()
	spansType = reflect.TypeFor[map[string]source.Span]()
	taskType  = reflect.TypeFor[spec.Task]()
)

// alike reports whether two parts of specs are equal but for their places.
func alike(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return x.Elem().Type() == y.Elem().Type() && alike(x.Elem(), y.Elem())
	case reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !alike(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		switch x := x.Interface().(type) {
		case spec.Str:
			y := y.Interface().(spec.Str)
			return x.V == y.V && x.Set() == y.Set()
		case spec.Bool:
			y := y.Interface().(spec.Bool)
			return x.V == y.V && x.Set() == y.Set()
		case spec.Int:
			y := y.Interface().(spec.Int)
			return x.V == y.V && x.Set() == y.Set()
		}
		for i := range x.NumField() {
			f := x.Type().Field(i)
			if !f.IsExported() || f.Type == fileType || f.Type == spanType || f.Type == spansType || x.Type() == taskType && f.Name == "Listed" {
				continue
			}
			if !alike(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// candidates returns the paths of what may be dropped: the number of an item, and of elements of tables in
// it. A header stands for its section.
func candidates(items []*source.Item) [][]int {
	var paths [][]int
	under := ""
	for i, x := range items {
		top := x.Name.Keys[0]
		switch {
		case x.Header != "":
			under = top
			commented := func(x *source.Item) bool { return !bare(x.Above, x.Beside) }
			if slices.Contains(implied, top) && !slices.ContainsFunc(items[i:behind(items, i)], commented) {
				paths = append(paths, []int{i})
			}
			continue
		case under != "":
			top = under
		}
		if slices.Contains(implied, top) && bare(x.Above, x.Beside) {
			paths = append(paths, elements(x.Value, []int{i})...)
		}
	}
	return paths
}

// behind returns the number of the item behind a section.
func behind(items []*source.Item, header int) int {
	end := header + 1
	for end < len(items) && items[end].Header == "" {
		end++
	}
	return end
}

// elements returns a path, and the paths of what is in the table, or in the tables of the list, at its end.
func elements(v *source.Literal, path []int) [][]int {
	paths := [][]int{path}
	if v.Open == "{" || v.Open == "[" && !slices.ContainsFunc(v.Elems, func(e *source.Element) bool { return e.Value.Open != "{" }) {
		for i, e := range v.Elems {
			if bare(e.Above, e.Beside) {
				paths = append(paths, elements(e.Value, append(slices.Clone(path), i))...)
			}
		}
	}
	return paths
}

// bare reports whether there are no comments above and beside something.
func bare(above []string, beside string) bool {
	return beside == "" && !slices.ContainsFunc(above, func(c string) bool { return c != "" })
}

// without returns items without what is at the end of a path.
func without(items []*source.Item, path []int) []*source.Item {
	items = slices.Clone(items)
	i := path[0]
	switch {
	case items[i].Header != "":
		return slices.Delete(items, i, behind(items, i))
	case len(path) == 1:
		return slices.Delete(items, i, i+1)
	}
	x := *items[i]
	x.Value = withoutElement(x.Value, path[1:])
	items[i] = &x
	return items
}

func withoutElement(v *source.Literal, path []int) *source.Literal {
	c, i := *v, path[0]
	c.Elems = slices.Clone(v.Elems)
	if len(path) == 1 {
		c.Elems = slices.Delete(c.Elems, i, i+1)
		return &c
	}
	e := *c.Elems[i]
	e.Value = withoutElement(e.Value, path[1:])
	c.Elems[i] = &e
	return &c
}
