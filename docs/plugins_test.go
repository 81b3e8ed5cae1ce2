package docs

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate/plugin"
	"github.com/opgen/opgen/internal/model"
)

const modelHeading = "## Model\n"

// meanings are those of fields whose names say enough in Go, by name in JSON.
var meanings = map[string]string{
	"name": "its name", "doc": "its documentation", "pos": "where it is declared", "go_name": "its name in Go",
	"role": "`input`, `weight`, `output`, `saved`, `scratch`, `argument` or `state`", "kind": "which kind it is",
	"min": "the least number of tensors or values", "max": "the greatest number of them; 2147483647 is no limit",
	"args": "its arguments", "id": "64 bits as hexadecimal digits, the same in all versions of opgen",
	"perm": "`none`, `read`, `write`, `readwrite`, `reduce` or `scratch`", "redop": "how values are reduced, of the permission `reduce`",
	"operator": "the name of the operator", "attrs": "its attributes, as JSON", "attr": "the name of an attribute",
	"values": "a JSON array", "from": "where it comes from", "of": "the number of the other slot", "slot": "the number of the slot",
	"other": "the name in the other operator, or of it", "own": "the number of the slot in this operator",
	"declared": "whether the list is all that there is", "list": "what must hold",
}

// TestPlugins writes the tables of the model's fields in plugins.md from the comments of the types that it is
// made of.
func TestPlugins(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(modelHeading))
	if at < 0 {
		t.Fatal("plugins.md has no section about the model")
	}
	intro, _, _ := strings.Cut(string(text[at:]), "\n### ")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n", text[:at], strings.TrimRight(intro, "\n"))
	w := &tables{comments: comments(t, "../internal/model", "../runtime/task", "../runtime/partition", "../runtime/onnx/mapping"), done: map[reflect.Type]bool{}}
	w.queue = []reflect.Type{reflect.TypeFor[model.Module]()}
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		if !w.done[next] {
			w.done[next] = true
			w.table(t, &b, next)
		}
	}
	golden(t, "plugins.md", b.Bytes())
}

// TestProtocol reads the request and the response in plugins.md, strictly, and answers the one with the
// other.
func TestProtocol(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	var request plugin.Request
	var response plugin.Response
	block(t, string(text), "A request:", &request)
	block(t, string(text), "A response:", &response)
	if request.Plugin != "header" || len(response.Files) != 2 || string(response.Files[1].Data) != "\x00\x01\x02" || response.Findings[0].Pos == "" {
		t.Errorf("plugins.md has %+v and %+v", request, response)
	}
	in, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := plugin.Answer(t.Context(), always{&response}, bytes.NewReader(in), &out); err != nil {
		t.Error(err)
	}
}

type always struct{ answer *plugin.Response }

func (a always) Generate(context.Context, *plugin.Request) (*plugin.Response, error) {
	return a.answer, nil
}

// block decodes the indented block behind a line.
func block(t *testing.T, text, line string, into any) {
	t.Helper()
	_, rest, _ := strings.Cut(text, "\n"+line+"\n\n")
	code, _, _ := strings.Cut(rest, "\n\n")
	d := json.NewDecoder(strings.NewReader(code))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s %v", line, err)
	}
}

// tables writes a table for each type of the model.
type tables struct {
	comments map[string]string // by type, and by type and field
	done     map[reflect.Type]bool
	queue    []reflect.Type
}

func (w *tables) table(t *testing.T, b *bytes.Buffer, typ reflect.Type) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n| field | value | meaning |\n|---|---|---|\n", typ.Name(), w.comments[typ.String()])
	for _, f := range w.fields(typ, 0) {
		doc := cmp.Or(w.comments[f.of.String()+"."+f.Name], meanings[f.json])
		if doc == "" {
			t.Errorf("the field %s of %v has no comment", f.Name, f.of)
		}
		doc = strings.Replace(doc, "FlexFlow", "[FlexFlow](https://github.com/flexflow/flexflow-train)", 1)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.json, w.value(f.Type), doc)
	}
}

// field is a field as JSON shows it.
type field struct {
	reflect.StructField
	of    reflect.Type
	json  string
	depth int
}

// fields returns the fields of a struct, sorted by name. Of two with the same name, it takes the outer one,
// as JSON does.
func (w *tables) fields(typ reflect.Type, depth int) []field {
	var all []field
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, w.fields(f.Type.Elem(), depth+1)...)
		case name != "-":
			all = append(all, field{f, typ, cmp.Or(name, f.Name), depth})
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return cmp.Or(cmp.Compare(a.json, b.json), cmp.Compare(a.depth, b.depth)) })
	return slices.CompactFunc(all, func(a, b field) bool { return a.json == b.json })
}

// value names the type of a value in JSON, and queues the types of objects.
func (w *tables) value(t reflect.Type) string {
	switch {
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string"
	case t.Kind() == reflect.Pointer:
		return w.value(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + w.value(t.Elem())
	case t.Kind() == reflect.Map:
		return "object of " + w.value(t.Elem())
	case t.Kind() == reflect.Struct:
		w.queue = append(w.queue, t)
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	case t.Kind() == reflect.Interface:
		return "any"
	case t.Kind() == reflect.Bool, t.Kind() == reflect.String:
		return t.Kind().String()
	}
	return "number"
}

// comments returns the comments of the types in some folders, and of their fields, each on one line.
func comments(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					for _, s := range g.Specs {
						addComments(all, file.Name.Name, g, s.(*ast.TypeSpec))
					}
				}
			}
		}
	}
	return all
}

func addComments(all map[string]string, pkg string, g *ast.GenDecl, s *ast.TypeSpec) {
	name := pkg + "." + s.Name.Name
	line := func(groups ...*ast.CommentGroup) string {
		var words []string
		for _, g := range groups {
			words = append(words, strings.Fields(g.Text())...)
		}
		return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
	}
	all[name] = line(g.Doc, s.Doc)
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			all[name+"."+n.Name] = line(f.Doc, f.Comment)
		}
	}
}
