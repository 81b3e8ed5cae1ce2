package format_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/opgen/opgen/internal/format"
	"github.com/opgen/opgen/internal/source"
)

// TestFile formats pieces of files.
func TestFile(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"spaces", "s.toml", "edition=1\nname   =   'x'\n\n\n\ndoc='a'\n\n", "edition = 1\nname    = 'x'\n\ndoc = 'a'\n"},
		{"order of keys", "s.toml", "doc = 'a' # why\nname = 'x'\nedition = 1\n", "edition = 1\nname    = 'x'\ndoc     = 'a' # why\n"},
		{"unknown keys are last", "s.toml", "other = 2\nmore = 3\nname = 'x'\n", "name  = 'x'\nother = 2\nmore  = 3\n"},
		{"order of sections", "s.toml", "name = 'x'\n[slots]\nb = {type='T',role=\"input\"}\na = {}\n# of attributes\n[attrs]\nz = { default = 1, type = 'int' }\n[ slots . c ]\nshape=[ 1,2 ]\n",
			"name = 'x'\n\n# of attributes\n[attrs]\nz = { type = 'int', default = 1 }\n\n[slots]\nb = { role = \"input\", type = 'T' }\na = {}\nc = { shape = [1, 2] }\n"},
		{"dotted keys", "s.toml", "[slots]\nlong_name.type = 'T'\nlong_name.role = 'input'\nb = {}\nlong = {}\n", "[slots]\nlong_name = { role = 'input', type = 'T' }\nb         = {}\nlong      = {}\n"},
		{"names keep their order", "s.toml", "[attrs]\nb = {}\na = {}\n[dims]\nZ = 1\nA = 2\n", "[attrs]\nb = {}\na = {}\n\n[dims]\nZ = 1\nA = 2\n"},
		{"groups", "s.toml", "\n# head\n\n#:schema x\ndoc = 'a'\nedition = 1\n\n# of name\nname = 'x'\n\n# at the end\n\n", "# head\n\n#:schema x\nedition = 1\ndoc     = 'a'\n\n# of name\nname = 'x'\n\n# at the end\n"},
		{"comments behind", "s.toml", "edition = 1 # one\nname = 'long' # two\ndoc = 'a'\nformula = 'f' # three\n", "edition = 1      # one\nname    = 'long' # two\ndoc     = 'a'\nformula = 'f' # three\n"},
		{"comments of sections", "s.toml", "[slots] # all\n# first\na = {}\n# last\n\n# of tasks\n[tasks]\nforward = {}\n", "[slots] # all\n# first\na = {}\n# last\n\n# of tasks\n[tasks]\nforward = {}\n"},
		{"arrays", "s.toml", "examples=[{input=[1,2]}, # first\n{attrs={a=1},input=[]},\n\n# second\n{},{}]\n", "examples = [\n  { input = [1, 2] }, # first\n  { attrs = { a = 1 }, input = [] },\n\n  # second\n  {}, {},\n]\n"},
		{"comment behind a bracket", "s.toml", "x = [ # c\n1\n # d\n]\n", "x = [\n  # c\n  1,\n  # d\n]\n"},
		{"arrays of tables", "s.toml", "[[examples]]\nb=[1]\nattrs={}\n[[examples]]\nlonger=[1]\n\n[[examples]]\n", "examples = [\n  { b = [1], attrs = {} },\n  { longer = [1] },\n  {},\n]\n"},
		{"lines of strings", "s.toml", "formula='''\na  =  1\n  # no comment\n'''#c\ndoc=\"\"\"x\"\"\"\n", "doc     = \"x\"\nformula = '''\na  =  1\n  # no comment\n''' #c\n"},
		{"Windows", "s.toml", "edition=1\r\n# c\r\nname='x'\r\n", "edition = 1\r\n# c\r\nname    = 'x'\r\n"},
		{"opgen.toml", "a/opgen.toml", "runtime='r'\nedition=1\n[[plugin]]\nout='o'\nname='n'\n", "edition = 1\nruntime = 'r'\n\n[[plugin]]\nname = 'n'\nout  = 'o'\n"},
		{"enums", "s.toml", "values={B='b',A='a'}\nkind='enum'\nname='x'\n", "kind   = 'enum'\nname   = 'x'\nvalues = { B = 'b', A = 'a' }\n"},
		{"tables of a section", "s.toml", "[slots.a]\nrole = 'input'\nshape = []\n\n# of b\n[slots.b]\nrole = 'output' # why\nshape = []\n[tasks.forward]\nover = 1\n",
			"[slots]\na = { role = 'input', shape = [] }\n# of b\nb.role  = 'output' # why\nb.shape = []\n\n[tasks.forward]\nover = 1\n"},
		{"wide tables", "s.toml", "[attrs]\na.doc = '" + strings.Repeat("x", 200) + "'\na.type = 'int'\n", "[attrs]\na.type = 'int'\na.doc  = '" + strings.Repeat("x", 200) + "'\n"},
		{"names apart", "s.toml", "[slots]\nx.role = 'a'\ny = {}\nx.type = 'b'\n", "[slots]\nx = { role = 'a', type = 'b' }\ny = {}\n"},
		{"nothing", "s.toml", "\n\n", ""},
		{"comments alone", "s.toml", "# a\n\n\n# b", "# a\n\n# b\n"},
	}
	for _, tt := range tests {
		got, err := format.File(tt.file, tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
		if again, err := format.File(tt.file, got); err != nil || again != got {
			t.Errorf("%s: %v, the second time\n%s\nwant\n%s", tt.name, err, again, got)
		}
	}
}

// TestSimplify drops what specs need not say.
func TestSimplify(t *testing.T) {
	const (
		head     = "edition = 1\nname = 'a'\ndoc = 'x'\n"
		want     = "doc = 'x'\n"
		formula  = "formula = 'y[n] = 2 * x[n]'\n\n[slots]\nx = { role = 'input', type = 'f32', shape = ['N'] }\ny = { role = 'output', type = 'f32', shape = ['N'] }\n"
		iterated = "formula = 'y[n] = iteration * x[n]'\nslots   = { x = { role = 'input', type = 'f32', shape = ['N'] }, y = { role = 'output', type = 'f32', shape = ['N'] } }\n"
	)
	tests := []struct{ name, file, text, want string }{
		{"edition and name", "specs/a.toml", "edition = 1\nname = 'a'\ndoc = 'x'\n", "doc = 'x'\n"},
		{"another name", "specs/a.toml", "name = 'b'\ndoc = 'x'\n", "name = 'b'\ndoc  = 'x'\n"},
		{"comments stay", "specs/a.toml", "edition = 1 # the first\nname = 'a'\ndoc = 'x'\n", "edition = 1 # the first\ndoc     = 'x'\n"},
		{"opgen.toml", "opgen.toml", "edition = 1\nruntime = 'r'\n", "edition = 1\nruntime = 'r'\n"},
		{"types", "specs/a.toml", head + "dtypes = { T = ['f32'] }\n[slots]\na = { role = 'input', type = 'T', shape = [] }\nb = { role = 'input', type = 'i32', shape = [] }\n",
			"doc    = 'x'\ndtypes = { T = ['f32'] }\n\n[slots]\na = { role = 'input', shape = [] }\nb = { role = 'input', type = 'i32', shape = [] }\n"},
		{"dotted types", "specs/a.toml", head + "[dtypes]\nT = ['f32']\n[slots]\na.role = 'input' # given\na.type = 'T'\na.shape = []\n",
			"doc    = 'x'\ndtypes = { T = ['f32'] }\n\n[slots]\na.role  = 'input' # given\na.shape = []\n"},
		{"two types", "specs/a.toml", head + "dtypes = { T = ['f32'], U = ['f64'] }\nslots = { a = { role = 'input', type = 'T', shape = [] } }\n",
			"doc    = 'x'\ndtypes = { T = ['f32'], U = ['f64'] }\nslots  = { a = { role = 'input', type = 'T', shape = [] } }\n"},
		{"dtypes", "specs/a.toml", head + "dtypes = { T = ['f16', 'bf16', 'f32', 'f64'] }\nslots = { a = { role = 'input', type = 'T', shape = [] } }\n",
			"doc   = 'x'\nslots = { a = { role = 'input', shape = [] } }\n"},
		{"words for types", "specs/a.toml", head + "dtypes = { T = ['f16', 'bf16', 'f32', 'f64', 'i8', 'i16', 'i32', 'i64', 'u8'], U = { in = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'bool'], from = 'T' }, V = ['f16', 'f32', 'f64'] }\n",
			"doc    = 'x'\ndtypes = { T = [\"floating\", \"signed\", 'u8'], U = { in = [\"integer\", 'bool'], from = 'T' }, V = ['f16', 'f32', 'f64'] }\n"},
		{"types with a comment", "specs/a.toml", head + "[dtypes]\nT = [\n  'f16', # half\n  'bf16',\n  'f32',\n  'f64',\n]\nU = ['f32']\n", "doc = 'x'\n\n[dtypes]\nT = [\n  'f16', # half\n  'bf16',\n  'f32',\n  'f64',\n]\nU = ['f32']\n"},
		{"slots of a kind", "specs/a.toml", "kind = 'initializer'\ndoc = 'x'\nformula = 'tensor[n] = 0'\n[slots]\ntensor = { role = 'output', shape = ['N...'] }\n",
			"kind    = 'initializer'\ndoc     = 'x'\nformula = 'tensor[n] = 0'\n"},
		{"a slot of another shape", "specs/a.toml", "kind = 'initializer'\ndoc = 'x'\nformula = 'tensor[n] = 0'\n[slots]\ntensor = { role = 'output', shape = ['N'] }\n",
			"kind    = 'initializer'\ndoc     = 'x'\nformula = 'tensor[n] = 0'\n\n[slots]\ntensor = { role = 'output', shape = ['N'] }\n"},
		{"a category", "specs/a.toml", head + "kind = 'optimizer'\ncategory = 'optimizers'\n", "kind = 'optimizer'\ndoc  = 'x'\n"},
		{"another category", "specs/a.toml", head + "kind = 'optimizer'\ncategory = 'updates'\n", "kind     = 'optimizer'\ncategory = 'updates'\ndoc      = 'x'\n"},
		{"tasks", "specs/a.toml", head + formula + "[tasks]\nforward = {}\nbackward = {}\n", "doc     = 'x'\n" + formula},
		{"a task with a comment", "specs/a.toml", head + formula + "[tasks]\nforward = {}\nbackward = {} # of x\n", "doc     = 'x'\n" + formula + "\n[tasks]\nbackward = {} # of x\n"},
		{"a section with a comment", "specs/a.toml", head + formula + "# what runs\n[tasks]\nforward = {}\nbackward = {}\n",
			"doc     = 'x'\n" + formula + "\n# what runs\n[tasks]\n"},
		{"no gradient", "specs/a.toml", head + formula + "[tasks]\nforward = {}\n", "doc     = 'x'\n" + strings.Replace(formula, "\n\n", "\ntasks   = { forward = {} }\n\n", 1)},
		{"a task that says something", "specs/a.toml", head + formula + "[tasks]\nforward = { grain = 8 }\nbackward = {}\n", "doc     = 'x'\n" + formula + "\n[tasks]\nforward  = { grain = 8 }\nbackward = {}\n"},
		{"an argument", "specs/a.toml", head + iterated + "args = { iteration = { from = 'iteration', doc = 'the training step, from 0' } }\ntasks = { forward = { args = ['iteration'] }, backward = { args = ['iteration'] } }\n", "doc     = 'x'\n" + iterated},
		{"an argument of one task", "specs/a.toml", head + iterated + "tasks = { forward = { args = ['iteration'] }, backward = {} }\n",
			"doc     = 'x'\n" + iterated + "tasks   = { forward = { args = ['iteration'] }, backward = {} }\n"},
		{"no formula", "specs/a.toml", head + "tasks = { forward = { over = 1 } }\n", "doc   = 'x'\ntasks = { forward = { over = 1 } }\n"},
		{"a section with one name", "specs/a.toml", head + "[slots]\nx = { role = 'input', type = 'f32', shape = ['N'] }\n[require]\nsome = { that = 'N > 1', message = 'want more' }\n",
			"doc     = 'x'\nrequire = { some = { that = 'N > 1', message = 'want more' } }\n\n[slots]\nx = { role = 'input', type = 'f32', shape = ['N'] }\n"},
		{"a section with two names", "specs/a.toml", head + "[attrs]\na = { type = 'int' }\nb = { type = 'int' }\n", "doc = 'x'\n\n[attrs]\na = { type = 'int' }\nb = { type = 'int' }\n"},
		{"a wide section", "specs/a.toml", head + "[attrs]\na = { type = 'int', doc = '" + strings.Repeat("x", 170) + "' }\n", "doc = 'x'\n\n[attrs]\na = { type = 'int', doc = '" + strings.Repeat("x", 170) + "' }\n"},
		{"a section with a comment beside", "specs/a.toml", head + "[attrs] # why\na = { type = 'int' }\n", "doc = 'x'\n\n[attrs] # why\na = { type = 'int' }\n"},
		{"a section with another below", "specs/a.toml", head + "[tasks.forward]\nover = 1\n[tasks]\nbackward = { over = 1 }\n", "doc = 'x'\n\n[tasks.forward]\nover = 1\n\n[tasks]\nbackward = { over = 1 }\n"},
		{"ONNX", "specs/a.toml", head + "onnx = [{ op = 'A', since = 1, inputs = ['x'], when = 'b == 1', ignore = ['b'] }, { op = 'B', ignore = ['b'] }]\n" + formula,
			"doc     = 'x'\n" + strings.Replace(formula, "\n\n", "\nonnx    = [{ op = 'A', when = 'b == 1' }, { op = 'B', ignore = ['b'] }]\n\n", 1)},
		{"sections of ONNX", "specs/a.toml", head + formula + "\n[[onnx]]\nop = 'A'\nwhen = 'b == 1'\nignore = ['b']\n\n[[onnx]]\nop = 'B'\nignore = ['b']\n",
			"doc     = 'x'\n" + formula + "\n[[onnx]]\nop   = 'A'\nwhen = 'b == 1'\n\n[[onnx]]\nop     = 'B'\nignore = ['b']\n"},
		{"a spec with findings", "specs/a.toml", "edition = 1\nname = 'a'\nsize = 3\ndoc = 'x'\n", "edition = 1\nname    = 'a'\ndoc     = 'x'\nsize    = 3\n"},
	}
	for _, tt := range tests {
		got, err := format.Simplify(tt.file, tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
}

// TestSyntax checks that a file which is no TOML gives an error with its place.
func TestSyntax(t *testing.T) {
	_, err := format.File("s.toml", "edition = 1\nname = \n")
	if syntax, ok := errors.AsType[*source.SyntaxError](err); !ok || syntax.Span.Pos().Line != 2 {
		t.Errorf("got %v, want an error of line 2", err)
	}
}

// token matches strings, so that a # in one is not taken for a comment, and comments.
var token = regexp.MustCompile(`(?s)"""(?:\\.|[^\\])*?"{3,5}|'''.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*`)

// comments returns the comments of a file, sorted.
func comments(text string) []string {
	var out []string
	for _, s := range token.FindAllString(text, -1) {
		if s[0] == '#' {
			out = append(out, strings.TrimRight(s, " \t\r"))
		}
	}
	slices.Sort(out)
	return out
}

// unchanged returns an error if a file that was formatted has other values or comments, or another form when
// it is formatted again.
func unchanged(name, text, formatted string) error {
	var before, after map[string]any
	if _, err := toml.Decode(strings.ReplaceAll(text, "\r\n", "\n"), &before); err != nil {
		return err
	}
	if _, err := toml.Decode(strings.ReplaceAll(formatted, "\r\n", "\n"), &after); err != nil {
		return err
	}
	for _, file := range []map[string]any{before, after} {
		for name, v := range file {
			file[name] = plain(v)
		}
	}
	if a, b := fmt.Sprintf("%#v", before), fmt.Sprintf("%#v", after); !reflect.DeepEqual(before, after) && a != b { // a NaN equals nothing
		return fmt.Errorf("the values were\n%s\nand are\n%s", a, b)
	}
	if a, b := comments(text), comments(formatted); !slices.Equal(a, b) {
		return fmt.Errorf("the comments were %q and are %q", a, b)
	}
	if again, err := format.File(name, formatted); err != nil || again != formatted {
		return fmt.Errorf("the second time: %v\n%s\nthe first time\n%s", err, again, formatted)
	}
	return nil
}

// plain returns tables of an array as the elements of one.
func plain(v any) any {
	tables, ok := v.([]map[string]any)
	if !ok {
		return v
	}
	list := make([]any, len(tables))
	for i, t := range tables {
		list[i] = t
	}
	return list
}

// TestSpecs formats all specs of the repository, also the ones of tests, which have other forms.
func TestSpecs(t *testing.T) {
	files := 0
	for _, pattern := range []string{"specs/*.toml", "test/*/testdata/specs/*.toml", "optest/testdata/*/specs/*.toml"} {
		paths, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			files++
			out, err := format.File(p, string(data))
			if err == nil {
				err = unchanged(p, string(data), out)
			}
			if err != nil {
				t.Errorf("%s: %v", p, err)
			}
			if out, err := format.Simplify(p, string(data)); strings.HasPrefix(pattern, "specs/") && (err != nil || out != string(data)) {
				t.Errorf("%s: %v, want the form that opgen fmt -s writes", p, err)
			}
		}
	}
	if files < 130 {
		t.Errorf("found %d specs, want 130", files)
	}
}

// FuzzFile formats any file: values and comments stay, and what is formatted stays as it is.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"a = 1 # c\n[b.c]\n# d\nd = [1, {e = 'x'}] # e\n\n[[f]]\n[[f]]\n", "[slots]\nx.role = 'a'\ny = {}\nx.type = 'b'\n# end", "x = [ # a\n 1 # b\n , # c\n 2, 3\n# d\n]\n",
		"x = {\n a = 1, # c\n b = 2,\n}\n", "s = '''\n# no\n'''\nt = \"\"\"\\\n #\"\"\"\"\"\r\n", "z = nan\nt = 1979-05-27 07:32:00Z # t\n\"a.b\".c = -inf", "\ufeff# x\n\ndoc = 1\nname = 2\n\n\n#:schema\nkind = 'enum'",
		"[tasks.b]\nover = 1\n[attrs]\n# x\n\n# y\n[tasks.a]\ngrain = [\n\n1]\nover = []\n", "'' = {'' = ''}\n[x.'']\n", "inplace = { a = 'b', backward = { c = 'd' } }\ndims.A = 1\ndims.B.shape_func = 'f'\ncost.x.flops = 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := format.File("fuzz.toml", text)
		if _, syntax := errors.AsType[*source.SyntaxError](err); syntax {
			return
		}
		if err == nil {
			err = unchanged("fuzz.toml", text, out)
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
