package format

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
)

// simplify drops what a spec need not say: the edition, which opgen.toml has, the name of the file, and the
// type of slots where there is one dtype variable.
func simplify(name string, items []*source.Item, t *keys.Table) []*source.Item {
	base := strings.TrimSuffix(path.Base(filepath.ToSlash(name)), ".toml")
	items = drop(items, func(x *source.Item) bool {
		switch x.Name.Text {
		case "edition":
			return true
		case "name":
			return text(x.Value) == base
		}
		return false
	})
	if t.Key("slots") != nil {
		items = oneType(items)
	}
	return items
}

// drop removes keys in front of all headers that have no comments.
func drop(items []*source.Item, redundant func(*source.Item) bool) []*source.Item {
	top := headers(items)
	head := slices.DeleteFunc(slices.Clone(items[:top]), func(x *source.Item) bool {
		return x.Value != nil && x.Beside == "" && len(x.Above) == 0 && redundant(x)
	})
	return append(head, items[top:]...)
}

// headers returns the number of the first header, or of items if there is none.
func headers(items []*source.Item) int {
	if i := slices.IndexFunc(items, func(x *source.Item) bool { return x.Header != "" }); i >= 0 {
		return i
	}
	return len(items)
}

// text returns a string of one line.
func text(v *source.Literal) string {
	if n := len(v.Text); v.Open == "" && n > 1 && strings.ContainsAny(v.Text[:1], `"'`) {
		return v.Text[1 : n-1]
	}
	return ""
}

// oneType drops the types of slots that are the only dtype variable.
func oneType(items []*source.Item) []*source.Item {
	variables := members(items, "dtypes")
	if len(variables) != 1 {
		return items
	}
	for _, s := range members(items, "slots") {
		s.Value.Elems = slices.DeleteFunc(s.Value.Elems, func(e *source.Element) bool {
			return e.Name.Text == "type" && text(e.Value) == variables[0].Name.Text && e.Beside == "" && len(e.Above) == 0
		})
	}
	in := false
	return slices.DeleteFunc(items, func(x *source.Item) bool {
		if x.Header != "" {
			in = x.Header == "[" && x.Name.Text == "slots"
			return false
		}
		return in && len(x.Name.Keys) == 2 && x.Name.Keys[1] == "type" && text(x.Value) == variables[0].Name.Text && x.Beside == "" && len(x.Above) == 0
	})
}

// members returns the entries of a section, in whichever form it stands.
func members(items []*source.Item, section string) []*source.Element {
	var out []*source.Element
	in := false
	for _, x := range items {
		switch {
		case x.Header != "":
			in = x.Header == "[" && x.Name.Text == section
		case in:
			out = append(out, &source.Element{Name: x.Name, Value: x.Value})
		case x.Name.Text == section:
			out = append(out, x.Value.Elems...)
		}
	}
	return out
}
