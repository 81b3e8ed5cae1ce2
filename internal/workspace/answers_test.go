package workspace_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/workspace"
)

const layers = `-- specs/curve.toml --
kind    = "enum"
doc     = "Functions of one number."
formula = "HALF(x) = x / 2"
[values]
HALF = "half of it"
-- specs/mix.toml --
doc     = "Mixes rows."
formula = '''
scale(x)     = x * factor
total[n, o]  = sum(k: scale(input[n, k]) * weight[o, k]) for o < 4
output[n, o] = mode == 'SUM' ? total[n, o] : curve(total[n, o])
'''
examples = [{ attrs = { factor = 2.0, mode = "MEAN" }, input = [2, 3], weight = [4, 3] }]
[attrs]
factor = { type = "float", default = 1.0, doc = "what is multiplied by" }
mode   = { type = "enum", values = ["SUM", "MEAN"], default = "SUM" }
curve  = { type = "enum", enum = "curve", default = "HALF" }
[slots]
input  = { role = "input", shape = ["N...", "K"], doc = "rows" }
weight = { role = "input", shape = [4, "K"] }
output = { role = "output", shape = ["N...", 4] }
-- specs/twice.toml --
doc     = "Mixes rows twice."
formula = "output[n, o] = mix(input, weight, factor = 2)[n, o]"
[slots]
input  = { role = "input", shape = ["N...", "K"] }
weight = { role = "input", shape = [4, "K"] }
output = { role = "output", shape = ["N...", 4] }
-- kernels/kernels.go --
package kernels

type Twice[T any] struct{}

func (Twice[T]) Forward(a *Arguments[T]) error { return use(a.Input, a.Weight) }
`

// at returns the offset of the mark | in a text, and the text without it.
func at(t testing.TB, marked string) (string, int) {
	t.Helper()
	before, after, found := strings.Cut(marked, "|")
	if !found {
		t.Fatalf("want a mark in %q", marked)
	}
	return before + after, len(before)
}

// place returns the offset of a mark in a part of a spec.
func place(t testing.TB, s *workspace.Snapshot, path, marked string) int {
	t.Helper()
	part, offset := at(t, marked)
	text, _ := s.Text(path)
	if strings.Count(text, part) != 1 {
		t.Fatalf("%s: want one place of %q", path, part)
	}
	return strings.Index(text, part) + offset
}

func TestHover(t *testing.T) {
	s := open(t, module(t, txtar.Parse([]byte(layers))), nil)
	for _, c := range []struct{ path, at, name, want string }{
		{"specs/mix.toml", "scale(in|put[n", "input", "`input T[N..., K]`, input: trainable"},
		{"specs/mix.toml", "scale(in|put[n", "input", "rows"},
		{"specs/mix.toml", "input[n, |k])", "k", "`k in 0 .. K`, an index"},
		{"specs/mix.toml", "total[|n, o]  =", "n", "`n in N...`, an index"},
		{"specs/mix.toml", "x * f|actor", "factor", "`factor`, float = 1"},
		{"specs/mix.toml", "= |x * factor", "x", "a parameter of `scale`"},
		{"specs/mix.toml", "su|m(k:", "sum", "sum"},
		{"specs/mix.toml", "? t|otal", "total", "`total[N..., 4]`, a value of the formula, float"},
		{"specs/mix.toml", "== 'S|UM'", "SUM", "a value of `mix.mode`"},
		{"specs/mix.toml", `"N...", "|K"], doc`, "K", "a dimension that the shape of `input` binds"},
		{"specs/mix.toml", `default = "H|ALF"`, "HALF", "half of it"},
		{"specs/mix.toml", `default = "H|ALF"`, "HALF", "HALF(x) = x / 2"},
		{"specs/mix.toml", `weight = { rol|e = "input"`, "role", "input, weight, output, saved or scratch"},
		{"specs/twice.toml", "m|ix(input", "mix", "Mixes rows."},
		{"specs/twice.toml", "fac|tor = 2", "factor", "what is multiplied by"},
		{"specs/twice.toml", "for|mula", "formula", "Task backward"},
	} {
		h, err := s.Hover(context.Background(), c.path, place(t, s, c.path, c.at))
		switch {
		case err != nil:
			t.Fatal(err)
		case h == nil:
			t.Errorf("%s: nothing is told", c.at)
		case written(h.Span) != c.name || !strings.Contains(h.Text, c.want):
			t.Errorf("%s: want %q about %s, got %q about %s", c.at, c.want, c.name, h.Text, written(h.Span))
		}
	}
	if h, err := s.Hover(context.Background(), "specs/mix.toml", place(t, s, "specs/mix.toml", `"Mixes |rows."`)); h != nil || err != nil {
		t.Errorf("in a sentence: got %v, %v", h, err)
	}
}

// TestHoverWords asks for words that stand for several element types, where a list and where a formula has
// one.
func TestHoverWords(t *testing.T) {
	const spec = `-- specs/half.toml --
doc      = "Halves numbers."
formula  = "y[n] = T in floating ? x[n] / 2 : x[n]"
dtypes   = { T = ["floating", "i32"] }
examples = [{ x = [3] }]
[slots]
x = { role = "input", shape = ["N..."] }
y = { role = "output", shape = ["N..."] }
`
	s := open(t, module(t, txtar.Parse([]byte(spec))), nil)
	for _, at := range []string{"T in float|ing", `["float|ing"`} {
		h, err := s.Hover(context.Background(), "specs/half.toml", place(t, s, "specs/half.toml", at))
		if want := "`floating`, the element types `f16 bf16 f32 f64`"; err != nil || h == nil || h.Text != want || written(h.Span) != "floating" {
			t.Errorf("%s: want %q about floating, got %v, %v", at, want, h, err)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []string // of which each is proposed
		not  []string
	}{
		{"doc = \"x\"\nfor|", []string{"formula", "slots", "kind"}, []string{"doc", "role"}},
		{"doc = \"x\"\n[sl|", []string{"slots", "attrs", "tasks"}, []string{"doc"}},
		{"doc = \"x\"\n[slots]\nx = { ro|", []string{"role", "shape", "type"}, []string{"formula"}},
		{"doc = \"x\"\n[slots]\nx = { role = \"input\", s|", []string{"shape", "saved"}, nil},
		{"doc = \"x\"\n[slots]\nx = { role = \"in|\" }", []string{"input", "weight"}, []string{"f32"}},
		{"doc = \"x\"\n[slots.x]\nro|", []string{"role"}, nil},
		{"doc = \"x\"\nslots.x.ro|", []string{"role"}, nil},
		{"doc = \"x\"\n[slots]\nx = { type = \"|", []string{"f32", "bf16"}, []string{"int"}},
		{"doc = \"x\"\n[attrs]\na = { type = \"|", []string{"int", "enum"}, []string{"f32"}},
		{"doc = \"x\"\n[attrs]\na = { optional = |", []string{"true", "false"}, nil},
		{"doc = \"x\"\n[attrs]\na = { type = \"enum\", enum = \"|", []string{"curve"}, []string{"mix"}},
		{"doc = \"x\"\nkind = \"|", []string{"operator", "initializer"}, nil},
		{"doc = \"x\"\nformula = \"y[n] = |\"\n[slots]\nx = { role = \"input\", shape = [\"N\"] }\n[attrs]\na = { type = \"int\" }", []string{"x", "a", "N", "exp", "sum", "mix", "twice"}, []string{"formula", "curve"}},
		{"doc = \"x\"\nformula = '''\nt[n] = x[n]\ny[n] = |\n'''\n[slots]\nx = { role = \"input\", shape = [\"N\"] }", []string{"t", "x"}, []string{"role"}},
		{"doc = \"x\"\nformula = \"y[n] = mix(x, f|", []string{"factor", "mode"}, nil},
		{"doc = \"x\"\nformula = \"y[n] = m == '|\"\n[attrs]\nm = { type = \"enum\", values = [\"A\", \"B\"] }", []string{"A", "B"}, []string{"m", "exp"}},
		{"doc = \"x\"\nformula = \"y[n] = r.|\"\n[attrs]\nr = { type = \"record\", fields = { k = { type = \"int\" } } }", []string{"k"}, []string{"r", "exp"}},
		{"doc = \"x\"\nexamples = [{ attrs = { |", []string{"a"}, nil},
		{"doc = \"x\"\nexamples = [{ attrs = { a = \"|\" } }]", []string{"HALF"}, nil},
		{"doc = \"x\"\nexamples = [{ |", []string{"attrs", "x"}, nil},
		{"doc = \"x\" # for|", nil, []string{"formula"}},
		{"doc = \"for|", nil, []string{"formula", "x"}},
	} {
		marked := c.spec
		switch {
		case strings.Contains(marked, "examples"):
			marked += "\n[attrs]\na = { type = \"enum\", enum = \"curve\" }\n[slots]\nx = { role = \"input\", shape = [\"N\"] }"
		}
		text, offset := at(t, marked)
		s := open(t, module(t, txtar.Parse([]byte(layers))), map[string]string{"specs/new.toml": text})
		found, span := s.Complete("specs/new.toml", offset)
		var labels []string
		for _, x := range found {
			labels = append(labels, x.Label)
		}
		for _, w := range c.want {
			if !slices.Contains(labels, w) {
				t.Errorf("%q: want %s among %v", c.spec, w, labels)
			}
		}
		for _, w := range c.not {
			if slices.Contains(labels, w) {
				t.Errorf("%q: want no %s among %v", c.spec, w, labels)
			}
		}
		if span.Start > offset || span.End < offset {
			t.Errorf("%q: the place %v does not hold the cursor", c.spec, span)
		}
	}
}

// lines returns places as file:line:column.
func lines(list []string) string { return strings.Join(list, " ") }

func TestDefinitionAndReferences(t *testing.T) {
	s := open(t, module(t, txtar.Parse([]byte(layers))), nil)
	for _, c := range []struct{ path, at, definition, references string }{
		{"specs/mix.toml", "x * f|actor", "specs/mix.toml:9:1", "specs/mix.toml:3:20 specs/mix.toml:7:25 specs/twice.toml:2:46"},
		{"specs/twice.toml", "m|ix(input", "specs/mix.toml:1:1", "specs/twice.toml:2:27"},
		{"specs/twice.toml", "mix(in|put", "specs/twice.toml:4:1", "specs/twice.toml:2:31 kernels/kernels.go:5:63"},
		{"specs/mix.toml", "curve(|total", "specs/mix.toml:4:1", "specs/mix.toml:5:32 specs/mix.toml:5:52"},
		{"specs/mix.toml", `enum = "cur|ve"`, "specs/curve.toml:1:1", "specs/mix.toml:11:35"},
		{"specs/mix.toml", `default = "HA|LF"`, "specs/curve.toml:5:1", "specs/curve.toml:3:12 specs/mix.toml:11:54"},
		{"specs/mix.toml", `mode = "ME|AN"`, "specs/mix.toml:10:45", "specs/mix.toml:7:47"},
		{"specs/mix.toml", `weight = { role = "input", shape = [4, "K|"`, "specs/mix.toml:13:46", "specs/mix.toml:14:41"},
	} {
		offset := place(t, s, c.path, c.at)
		var got []string
		for _, x := range s.Definition(c.path, offset) {
			got = append(got, x.Pos().String())
		}
		if lines(got) != c.definition {
			t.Errorf("%s: want the definition %s, got %s", c.at, c.definition, lines(got))
		}
		found, err := s.References(context.Background(), c.path, offset, false)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, x := range found {
			got = append(got, x.Pos().String())
		}
		if lines(got) != c.references {
			t.Errorf("%s: want the references %s, got %s", c.at, c.references, lines(got))
		}
	}
	kernel, _ := s.Kernel("kernels/kernels.go")
	from := s.FromKernel("kernels/kernels.go", strings.Index(kernel, "Weight"))
	if len(from) != 1 || from[0].Pos().String() != "specs/twice.toml:5:1" {
		t.Errorf("from a kernel: got %v", from)
	}
}

func TestRename(t *testing.T) {
	d := module(t, txtar.Parse([]byte(layers)))
	s := open(t, d, nil)
	before := all(t, &workspace.Cache{}, d, nil)
	for _, c := range []struct{ path, at, to, refused string }{
		{"specs/mix.toml", "x * f|actor", "ratio", ""},
		{"specs/twice.toml", "mix(in|put", "rows", ""},
		{"specs/mix.toml", "scale(in|put[n, k])", "rows", ""}, // which an example has, too
		{"specs/mix.toml", "? to|tal", "all_of_it", ""},
		{"specs/mix.toml", `default = "HA|LF"`, "MIDDLE", ""},
		{"specs/mix.toml", `mode = "ME|AN"`, "AVERAGE", ""},
		{"specs/mix.toml", `weight = { role = "input", shape = [4, "K|"`, "Columns", ""},
		{"specs/mix.toml", "= scal|e(x)", "", ""}, // there is no such place
		{"specs/mix.toml", "x * f|actor", "weight", "mix has the name weight already"},
		{"specs/mix.toml", "x * f|actor", "Big", "lower-case"},
		{"specs/mix.toml", `weight = { role = "input", shape = [4, "K|"`, "O", "the index o"},
		{"specs/mix.toml", "x * f|actor", "in", "meaning of its own"},
		{"specs/mix.toml", `weight = { role = "input", shape = [4, "K|"`, "k", "upper-case"},
		{"specs/mix.toml", "su|m(k:", "total", "want the name of"},
	} {
		if c.to == "" {
			continue
		}
		edits, err := s.Rename(c.path, place(t, s, c.path, c.at), c.to)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s to %s: want the error %q, got %v", c.at, c.to, c.refused, err)
			}
			continue
		}
		if err != nil || len(edits) < 2 {
			t.Fatalf("%s to %s: got %v, %v", c.at, c.to, edits, err)
		}
		texts, err := diag.Apply([]*diag.Diagnostic{{Edits: edits}})
		if err != nil {
			t.Fatal(err)
		}
		after := strings.ReplaceAll(fmt.Sprint(all(t, &workspace.Cache{}, d, texts)), "use(a.Rows,", "use(a.Input,") // a line that a finding quotes
		if after != fmt.Sprint(before) {
			t.Errorf("%s to %s: want the findings\n%v\ngot\n%v", c.at, c.to, before, after)
		}
		if c.path == "specs/twice.toml" && !strings.Contains(texts["kernels/kernels.go"], "use(a.Rows, a.Weight)") {
			t.Errorf("the kernel after the slot was renamed:\n%s", texts["kernels/kernels.go"])
		}
	}
}

func TestOutlineAndHints(t *testing.T) {
	s := open(t, module(t, txtar.Parse([]byte(layers))), nil)
	var got []string
	for _, x := range s.Outline("specs/mix.toml") {
		got = append(got, x.Name)
		for _, b := range x.Below {
			got = append(got, x.Name+"."+b.Name)
		}
	}
	if want := "doc formula examples attrs attrs.factor attrs.mode attrs.curve slots slots.input slots.weight slots.output"; lines(got) != want {
		t.Errorf("outline: want %s, got %s", want, lines(got))
	}
	hints, err := s.Hints(context.Background(), "specs/mix.toml")
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, h := range hints {
		got = append(got, written(h.At)+h.Text)
	}
	want := []string{"total[n, o]: [N..., 4] float", "k in 0 .. K", "output[n, o]: T[N..., 4]"}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("hints: want %q, got %q", w, got)
		}
	}
	if len(hints) != 4 || !strings.HasPrefix(got[0], "formula // forward ") {
		t.Errorf("hints: want what tasks cost in front of %q, got %q", want, got)
	}
}

// A text that is no TOML still has names in the lines that can be read.
func TestBroken(t *testing.T) {
	d := module(t, txtar.Parse([]byte(layers)))
	for _, c := range []struct {
		old, new string
		least    int // of the 60 names of the spec
	}{
		{"factor = {", "factor = ", 50},
		{"[slots]", "[slots", 50},
		{`doc     = "Mixes rows."`, `doc     = "Mixes rows.`, 50},
		{"'''\nexamples", "\nexamples", 20},
		{"output = { role", "output = { ro le", 50},
	} {
		whole := strings.SplitN(layers, "-- specs/mix.toml --\n", 2)[1]
		whole = whole[:strings.Index(whole, "-- specs/twice")]
		text := strings.Replace(whole, c.old, c.new, 1)
		if text == whole {
			t.Fatal(c.old)
		}
		s := open(t, d, map[string]string{"specs/mix.toml": text})
		names := s.Names("specs/mix.toml")
		if len(names) < c.least {
			t.Errorf("%s: got %d names", c.new, len(names))
		}
		for _, n := range names {
			if got := strings.TrimRight(written(n.Span), "'"); text[n.Span.Start:n.Span.End] != written(n.Span) || got != n.Text {
				t.Errorf("%s: the name %s stands at %q", c.new, n.Text, got)
			}
		}
	}
}

// The text of a kernel that is open in an editor counts, and not that of its file: in findings, in
// references, and in renames, whose edits would otherwise change other places of the text.
func TestOpenKernel(t *testing.T) {
	const file = "kernels/kernels.go"
	d := module(t, txtar.Parse([]byte(layers)))
	var c workspace.Cache
	for _, text := range []string{
		"package kernels\n\n// Twice mixes twice: \U0001d54a.\ntype Twice[T any] struct{}\n\nfunc (Twice[T]) Forward(a *Arguments[T]) error { return use(a.Weight) }\n",
		"package kernels\n\ntype Twice[T any] struct{}\n\nfunc (Twice[T]) Forward(b *Arguments[T]) error { return use(b.Weight) }\n",
	} {
		texts, err := d.Texts(map[string]string{file: text})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Open(texts)
		if got, ok := s.Kernel(file); !ok || got != text {
			t.Errorf("want the text that is open, got\n%s", got)
		}
		if got := s.FromKernel(file, strings.Index(text, "Weight)")); len(got) != 1 || got[0].Pos().String() != "specs/twice.toml:5:1" {
			t.Errorf("from a kernel: got %v", got)
		}
		edits, err := s.Rename("specs/twice.toml", place(t, s, "specs/twice.toml", "wei|ght = {"), "mixing")
		if err != nil {
			t.Fatal(err)
		}
		changed, err := diag.Apply([]*diag.Diagnostic{{Edits: edits}})
		if want := strings.Replace(text, "Weight", "Mixing", 1); err != nil || changed[file] != want {
			t.Errorf("want\n%s\ngot\n%s, %v", want, changed[file], err)
		}
		found, err := s.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range found[file] {
			if x.Span.File.Text != text {
				t.Errorf("a finding is about another text: %v", x)
			}
		}
		if len(found[file]) == 0 {
			t.Error("want findings about the kernel, got none")
		}
	}
}
