package main

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/source"
)

// inProcess runs opgen in this process and returns its exit status, and what it prints.
func (s *sandbox) inProcess(args ...string) (int, string) {
	s.t.Helper()
	var out bytes.Buffer
	status := run(append(args, "-C", s.dir), &out, &out)
	return status, out.String()
}

// textSpec has a text in each place that takes one.
const textSpec = `edition    = 1
name       = "scale"
doc        = %[1]q
category   = %[1]q
since      = %[1]q
deprecated = %[1]q
formula    = "output[n] = factor * input[n]"

[attrs]
factor = { type = "float", default = 1.0, doc = %[1]q }
mode   = { type = "enum", values = ["one", "two"], default = "one", doc = %[1]q }

[dims]
M = { value = "len(N)", doc = %[1]q }

[slots]
input  = { role = "input", type = "f32", shape = ["N..."], doc = %[1]q }
output = { role = "output", type = "f32", shape = ["N..."], doc = %[1]q }

[require.some]
that    = "M > 0 && mode == 'one'"
message = %[1]q

[tasks.forward]
over = "prod(N)"
doc  = %[1]q
`

// TestF7TextStaysText puts texts that Go, Markdown or a terminal may take for something else into every place
// of a spec.
func TestF7TextStaysText(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, text := range []string{"x.\n\n+build ignore\n\ny", "+build ignore", "//go:build ignore", "x\n//go:build ignore\n", "go:build ignore", "*/ func init() /*",
		"import \"C\"", "#cgo LDFLAGS: x", "x\n\n//line y:1\n", "--> <script>alert(1)</script>", "# Heading\n\n# Another", "`", "a\r\nb", "%s%!d(x)", "\\", "export x", strings.Repeat("w ", 48) + "+build ignore"} {
		s := newSandbox(t)
		s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\npages = \"pages\"\n")
		spec := fmt.Sprintf(textSpec, text)
		s.write("specs/scale.toml", strings.Replace(spec, "M = { value = \"len(N)\", doc = "+fmt.Sprintf("%q", text)+" }", "M = \"len(N)\"", 1))
		if status, out := s.inProcess("generate"); status != clean {
			t.Errorf("%q: status %d:\n%s", text, status, out)
			continue
		}
		for name, data := range s.files() {
			if !strings.HasPrefix(name, "generated/") && !strings.HasPrefix(name, "pages/") {
				continue
			}
			checkText(t, text, name, data)
		}
	}
}

// checkText checks that a generated file has no line that is more than text.
func checkText(t *testing.T, text, name, data string) {
	t.Helper()
	if i := strings.IndexFunc(data, source.Hidden); i >= 0 {
		t.Errorf("%q: %s has a hidden character: %q", text, name, data[i:min(i+20, len(data))])
	}
	if path.Ext(name) == ".md" && (strings.Contains(data, "<script") || strings.Contains(data, "\n# Heading")) {
		t.Errorf("%q: %s has a tag or a heading:\n%s", text, name, data)
	}
	if path.Ext(name) != ".go" {
		return
	}
	if _, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if constraint.IsGoBuild(line) || constraint.IsPlusBuild(line) || strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "//line") || strings.HasPrefix(line, "//export") {
			t.Errorf("%q: %s has the line %q", text, name, line)
		}
	}
}

// TestHiddenText checks that characters which are not shown are found, in whatever way they are written.
func TestHiddenText(t *testing.T) {
	for _, c := range []rune{0, 0x1b, 0x7f, 0x85, '\r', 0x202e, 0x2066, 0x200f, 0x061c, 0xfeff, 0x2028, 0x200b, 0xe0041} {
		for _, form := range []string{fmt.Sprintf(`\U%08X`, c), string(c)} {
			if c < ' ' && len(form) == 1 || c == 0x7f && len(form) == 1 {
				continue // not TOML
			}
			s := newSandbox(t)
			s.write("specs/scale.toml", strings.Replace(textSpecPlain, "DOC", "a"+form+"b", 1))
			status, out := s.inProcess("check")
			if status != findings || !strings.Contains(out, "specs/scale.toml:") || strings.ContainsFunc(out, source.Hidden) {
				t.Errorf("%U as %q: status %d:\n%q", c, form, status, out)
			}
		}
	}
}

const textSpecPlain = "edition = 1\nname = \"scale\"\ndoc = \"DOC\"\n" + smallSpec

// TestF9FusedWithoutRole checks specs that name a slot or an operator of another spec which has findings of
// its own.
func TestF9FusedWithoutRole(t *testing.T) {
	lines := strings.SplitAfter(strings.Replace(textSpecPlain, `"scale"`, `"other"`, 1), "\n")
	fuse := "\n[fuse.x]\nother = \"other\"\nshare = { input = \"output\" }\nmake = { output = \"output\" }\n"
	for i := range lines {
		for _, change := range []string{"", "[x]\n", strings.ReplaceAll(lines[i], `role = "output"`, `doc = "d"`), strings.ReplaceAll(lines[i], `role = "input"`, `role = 3`),
			strings.ReplaceAll(lines[i], `type = "f32"`, `doc = "d"`), strings.ReplaceAll(lines[i], `shape = ["N..."]`, `shape = 1`), strings.ReplaceAll(lines[i], `shape = ["N..."]`, `doc = ""`)} {
			s := newSandbox(t)
			s.write("specs/scale.toml", textSpecPlain+fuse)
			other := slices.Clone(lines)
			other[i] = change
			s.write("specs/other.toml", strings.Join(other, ""))
			if status, out := s.inProcess("check"); status == trouble {
				t.Errorf("line %d as %q: status %d:\n%s", i+1, change, status, out)
			}
		}
	}
}

// nest puts an expression into itself.
func nest(inner, outer string, depth int) string {
	for range depth {
		inner = strings.ReplaceAll(outer, "@", inner)
	}
	return inner
}

// TestF10NestedExpressions checks that no expression takes exponential time, and that generated code is not
// larger than linear.
func TestF10NestedExpressions(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, that := range []string{
		nest("0", "len(N[@:])", 40) + " >= 0", nest("(1 < 2)", "(@ in [true, false])", 40), nest("1.5", "sqrt(@)", 60) + " > 0.0",
		nest("2", "max(@, 1)", 60) + " > 0", "len(N" + strings.Repeat("[0:]", 90) + ") >= 0", nest("len(N)", "(@ > 1 ? 1 : 2)", 40) + " > 0",
		nest("N", "(@ in [N] ? N : N)", 40) + " == N", nest("len(N)", "ceildiv(@, 2)", 60) + " >= 0", nest("2", "-(-@)", 40) + " > 0",
		"len(N" + strings.Repeat("[0:]", 4000) + ") >= 0", "sum(i < 2000000000: i) > 0", nest("1", "sum(i < 100000: @)", 1) + " > 0", nest("1.5", "log2(1.0 + sqrt(@))", 30) + " > 0.0",
	} {
		s := newSandbox(t)
		s.write("specs/scale.toml", strings.Replace(textSpecPlain, "\n[tasks", "\n[require.q]\nthat = \""+that+"\"\nmessage = \"m\"\n\n[tasks", 1))
		status, out := s.inProcess("generate")
		if status == trouble {
			t.Errorf("%.60s: status %d:\n%.500s", that, status, out)
		}
		if size := len(s.files()["generated/scale/shapes.go"]); size > 40000 {
			t.Errorf("%.60s: the code has %d bytes", that, size)
		}
	}
}

// TestConstants checks constants that do not fit their types, and divisions by zero, which the Go compiler
// would refuse.
func TestConstants(t *testing.T) {
	for that, want := range map[string]string{
		"2147483647 * 2147483647 * 8 > 0": "OP402", "2147483647 + 1 > len(N)": "OP402", "-2147483647 - 2 < 0": "OP402",
		"1e308 * 1e308 > 1.0": "OP402", "1.0 / (1.0 - 1.0) > 0.0": "OP406", "factor / (2 - 2) > 0.0": "OP406", "1.0 / -0.0 > 0.0": "OP406",
		"1.0 / min(0, 1) > 0.0": "OP406", "max(2147483647, 1) * 2 > 0": "OP402",
	} {
		s := newSandbox(t)
		s.write("specs/scale.toml", strings.Replace(textSpecPlain, "\n[tasks", "\n[require.q]\nthat = \""+that+"\"\nmessage = \"m\"\n\n[tasks", 1))
		if status, out := s.inProcess("check"); status != findings || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, want %s:\n%s", that, status, want, out)
		}
	}
}

// TestF12Names checks that names of operators which cannot be packages everywhere are found, by check and by
// new.
func TestF12Names(t *testing.T) {
	for _, name := range []string{"documentation", "testdata", "test_data", "vendor", "internal", "main", "init", "catalogue", "con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9",
		strings.Repeat("a", 101)} {
		s := newSandbox(t, "specs/"+name+".toml")
		if status, out := s.inProcess("check"); status != findings || !strings.Contains(out, "OP20") {
			t.Errorf("check %s: status %d:\n%s", name, status, out)
		}
		s = newSandbox(t, "specs/scale.toml")
		if status, out := s.inProcess("new", name); status != trouble || !strings.Contains(out, "opgen: operator name") {
			t.Errorf("new %s: status %d:\n%s", name, status, out)
		}
	}
	for line, want := range map[string]string{"module (\n\texample.com/x\n)": "example.com/x/generated", "module `example.com/y`": "go.mod",
		"module \"example.com/z\" // here": "example.com/z/generated", "module \"example.com/w": "", "// module a": "no module line"} {
		s := newSandbox(t, "specs/scale.toml")
		s.write("go.mod", line+"\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.1.0\n")
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		status, out := s.inProcess("generate")
		if strings.HasSuffix(want, "generated") && !strings.Contains(s.files()["generated/catalogue/catalogue.go"], `"`+want+"/scale\"") || !strings.HasSuffix(want, "generated") && (status != trouble || !strings.Contains(out, want)) {
			t.Errorf("%q: status %d, want %q:\n%s", line, status, want, out)
		}
	}
	for _, folder := range []string{"vendor/k", "main", "a/con", ".git", "k\\nx", "<k>"} {
		for _, key := range []string{"kernels", "output", "pages", "specs"} {
			s := newSandbox(t, "specs/scale.toml")
			s.write("opgen.toml", fmt.Sprintf("edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n%s = \"%s\"\n", key, folder))
			status, out := s.inProcess("check")
			if harmless := key == "pages" && !strings.ContainsAny(folder, "<\\") && folder != ".git"; status == clean && !harmless {
				t.Errorf("%s = %q: status %d:\n%s", key, folder, status, out)
			}
		}
	}
}

// TestF13LargeInput checks that input which would take much time or memory is refused by a limit, or read.
func TestF13LargeInput(t *testing.T) {
	repeat := strings.Repeat
	keys := "[x]\n"
	for i := range 1500 {
		keys += fmt.Sprintf("k%d = 1\n", i)
	}
	for name, text := range map[string]string{
		"keys": keys, "arrays": "a = " + repeat("[", 100000) + repeat("]", 100000), "open arrays": "a = " + repeat("[", 500000), "tables": "a = " + repeat("{a=", 100000) + "1" + repeat("}", 100000),
		"dotted": "a" + repeat(".a", 100000) + " = 1", "header": "[a" + repeat(".a", 100000) + "]", "long key": repeat("a", 100000) + " = 1", "elements": "a = [" + repeat("1,", 100000) + "]",
		"seq": strings.Replace(textSpecPlain, `"f32"`, `"`+repeat("seq(", 20000)+"f32"+repeat(")", 20000)+`"`, 1), "too large": "# " + repeat("x", 1<<20), "tables of an array": repeat("[[a]]\n", 100000),
		"many wrong": textSpecPlain + "\n" + strings.Replace(keys, "[x]", "[slots.input2]", 1)[:9000],
	} {
		s := newSandbox(t)
		s.write("specs/scale.toml", text)
		if status, out := s.inProcess("check"); status == clean || len(out) > 100000 {
			t.Errorf("%s: status %d, %d bytes:\n%.300s", name, status, len(out), out)
		}
		if status, out := s.inProcess("fmt", "-l"); len(out) > 1000 {
			t.Errorf("%s: fmt: status %d, %d bytes:\n%.300s", name, status, len(out), out)
		}
	}
	// Many elements, lines, keys and comments within the limits.
	lines := "x = [" + repeat("\n  1, # one", 9000) + "\n]\n" + repeat("# comment\n\n", 9000) + "y = [" + repeat("{ a = [1,\n2] },", 9000) + "]\n" + repeat("[[a]]\n", 9000)
	s := newSandbox(t)
	s.write("specs/scale.toml", lines)
	if status, out := s.inProcess("fmt"); status != clean {
		t.Errorf("a long file: status %d:\n%.300s", status, out)
	}
}
