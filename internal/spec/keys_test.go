package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/spec"
)

// samples holds a value of each type.
var samples = []struct {
	is   keys.Type
	text string
}{{keys.String, `"x"`}, {keys.Integer, "1"}, {keys.Float, "1.5"}, {keys.Boolean, "true"}, {keys.Array, "[]"}, {keys.Object, "{}"}}

// later lists values whose types are not checked when a spec is read, but by package check, which knows the
// type of the attribute.
var later = []string{"attrs.x.min", "attrs.x.max", "attrs.x.fields.x.min", "attrs.x.fields.x.max", "slots.x.shape[]"}

// TestTypes gives each key values of all types. The reader has to refuse those, and only those, of types that
// the table of keys does not list. In each table, it has to refuse a key that the table of keys does not
// list, unless names of keys are free.
func TestTypes(t *testing.T) {
	keysTried := 0
	for i, k := range spec.Tables() {
		head := "edition = 1\nname = 'x'\ndoc = 'd'\n"
		if i > 0 {
			head += "kind = 'enum'\nvalues = ['A']\n"
		}
		var walk func(k *keys.Table, path string, wrap func(string) string)
		value := func(path string, v keys.Value, wrap func(string) string) {
			for _, s := range samples {
				if slices.Contains(later, path) {
					continue
				}
				keysTried++
				text := s.text
				if s.is == keys.Array && v.Elem != nil && v.Type != keys.Array && v.Elem.Type == keys.Expression {
					text = `["x"]` // what a step runs over, of which there is some
				}
				codes := codes(head, wrap(text))
				refused := slices.Contains(codes, diag.WrongKind) || strings.HasPrefix(path, "kernels.cuda.x") && slices.Contains(codes, diag.UnknownKey)
				if refused == (v.Type&s.is != 0) {
					t.Errorf("%s = %s: the table says that this may be: %v, the reader finds %v", path, s.text, v.Type&s.is != 0, codes)
				}
			}
		}
		walk = func(k *keys.Table, path string, wrap func(string) string) {
			list := k.Keys
			if k.Others != nil {
				list = append(slices.Clone(list), keys.Key{Name: "x", Value: *k.Others})
			}
			for _, key := range list {
				if key.Later || path == "" && slices.Contains([]string{"edition", "kind", "name", "doc"}, key.Name) {
					continue
				}
				beside := ""
				if k.OneOf != nil && !slices.Contains(k.OneOf, key.Name) {
					beside = "min_extents = 'x', " // a kind that has the key
				}
				at := func(v string) string { return wrap(fmt.Sprintf("{ %s%s = %s }", beside, key.Name, v)) }
				full := strings.TrimPrefix(path+"."+key.Name, ".")
				for v := key.Value; ; v = *v.Elem {
					value(full, v, at)
					if v.Table != nil {
						walk(v.Table, full, at)
					}
					if v.Elem == nil {
						break
					}
					outer := at
					at = func(v string) string { return outer("[" + v + "]") }
					full += "[]"
				}
			}
			if k.Others == nil {
				if codes := codes(head, wrap("{ zzz = 1 }")); !slices.Contains(codes, diag.UnknownKey) {
					t.Errorf("%s.zzz: the table has no such key, the reader finds %v", path, codes)
				}
			}
		}
		walk(k, "", func(v string) string { return v })
	}
	if keysTried < 500 {
		t.Errorf("tried %d values, want at least 500", keysTried)
	}
}

// codes returns the codes of what is found in a spec that has a table besides its head.
func codes(head, table string) []diag.Code {
	body := strings.TrimSuffix(strings.TrimPrefix(table, "{ "), " }") // the table of the file is not written in braces
	for _, line := range strings.Split(head, "\n") {                  // a key of the head gives way to the same one
		if key, _, ok := strings.Cut(line, " = "); ok && strings.HasPrefix(body, key+" ") {
			head = strings.Replace(head, line+"\n", "", 1)
		}
	}
	var list diag.List
	spec.Read("specs/x.toml", head+body+"\n", &list)
	var out []diag.Code
	for _, d := range list.Sorted() {
		out = append(out, d.Code)
	}
	return out
}
