package driver_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/output"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// companions are other specs, to which the fuzzed one may refer.
var companions = []string{"activation", "zero", "kaiming_uniform"}

var fuzzConfig = &config.Config{Specs: "specs", Output: "generated", Kernels: "kernels", Runtime: "github.com/opgen/opgen/runtime",
	GeneratedImport: "example.com/m/generated", KernelsImport: "example.com/m/kernels"}

// FuzzSpec generates code from any text as a spec. It checks that nothing panics and that findings have
// places in the file. If there are no findings, the generated code must compile and lie in the output folder.
// The second argument edits the first, so that many inputs are TOML.
func FuzzSpec(f *testing.F) {
	beside := map[string]driver.Input{}
	for _, name := range companions {
		p := "specs/" + name + ".toml"
		beside[name] = driver.Input{Path: p, Text: readFiles(f, repository, p)[p]}
	}
	seeds := specSeeds(f)
	// The runtime is type-checked here, and not by the first input that needs it, since an input that takes
	// more than ten seconds counts as a hang.
	for _, name := range []string{"linear", "sgd", "sparse_categorical_crossentropy"} {
		checkSpec(f, beside, seeds["specs/"+name+".toml"])
	}
	f.Fuzz(func(t *testing.T, text string, edits []byte) {
		text = edit(text, edits)
		checkSpec(t, beside, text)
	})
}

// specSeeds adds specs as seeds, and returns them by path.
func specSeeds(f *testing.F) map[string]string {
	f.Helper()
	seeds := readFiles(f, repository, "specs")
	maps.Copy(seeds, readFiles(f, "testdata", "emit", "onnx"))
	for name, a := range diagArchives(f) {
		for _, file := range a.Files {
			seeds[path.Join("diag", name, file.Name)] = string(file.Data)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(seeds)) {
		if path.Ext(p) == ".toml" {
			f.Add(seeds[p], []byte{})
		}
	}
	return seeds
}

// FuzzExamples tries the examples of any text as a spec. It checks that nothing panics and that findings have
// places in the file. Edits are as in FuzzSpec, which also compiles code and so tries fewer texts.
func FuzzExamples(f *testing.F) {
	p := "specs/activation.toml"
	activation := driver.Input{Path: p, Text: readFiles(f, repository, p)[p]}
	specSeeds(f)
	f.Fuzz(func(t *testing.T, text string, edits []byte) {
		text = edit(text, edits)
		var list diag.List
		checked := driver.Read([]driver.Input{{Path: "specs/" + specName(text) + ".toml", Text: text}, activation}, &list)
		if !list.Empty() {
			return
		}
		m := model.Resolve(checked)
		var specs []*spec.Spec
		for _, sc := range checked.Scopes {
			specs = append(specs, sc.Spec)
		}
		example.Check(m, specs, nil, &list)
		if !list.Empty() {
			checkFindings(t, list.Sorted())
		}
	})
}

// checkSpec generates code from a spec and from others to which it may refer.
func checkSpec(t testing.TB, beside map[string]driver.Input, text string) {
	t.Helper()
	name := specName(text)
	inputs := []driver.Input{{Path: "specs/" + name + ".toml", Text: text}}
	for n, in := range beside {
		if n != name {
			inputs = append(inputs, in)
		}
	}
	var list diag.List
	m := resolve(inputs, &list)
	if m == nil {
		checkFindings(t, list.Sorted())
		return
	}
	files, err := driver.Emit(fuzzConfig, m)
	if err != nil {
		t.Fatal(err)
	}
	checkWritten(t, files)
	checkCompiles(t, files)
}

// piece matches the tokens that edits move: strings, words, blanks and other characters.
var piece = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_.]+|[ \t]+|.|\n`)

// replacements are the texts that edits put in place of a token.
var replacements = strings.Fields(`0 -1 1 3000000000 1.5 nan true false [] {} "" "T" "N..." "K" "_" "A..." "X[:1]..."
	"caller" "f32" "i64" "bool" "bf16" "input" "output" "weight" "saved" "scratch" "operator" "optimizer" "initializer"
	"enum" "axis" "dims" "record" "dtype" "none" "read" "readwrite" "scatter" "zero" "activation" "prod(N)" "len(N)/2"
	"K%3==0" "-K" "--1" "!has(activation)" "activation=='GELU'" "or(K,1)" "K>1?N[0]:2" "[1,K]" "é" "*/" "a//b" = .
	optional default present saved trainable shape type role init over grain when access grads steps binds of end list
	flops bytes cost min max values fields doc attrs slots dims args tasks require examples dtypes forward backward update`)

// words matches names. An edit replaces all occurrences of a name by one of names, which have a meaning in
// generated code.
var (
	words = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	names = strings.Fields(`a b d e f g i k n r s v x acc args attr attrs apply arg bool body catalogue check context ctx defaults
		dim dims dtype end err error errors f32 false float64 forward forward_task func grad grad_input graph index init int
		invoke_forward kernel len map math max min name nil node ok operator optimizer opts options outputs perm range register
		resolve shape slot slot_names slots step strconv string task tensor true type types validate values
		A AB Ab B Dims Forward Kernel K N Operator R Slot SlotInput T T_ TT Tt`)
)

// edit applies edits of five bytes each: an operation, and two numbers of tokens or lines.
func edit(text string, edits []byte) string {
	for ; len(edits) >= 5; edits = edits[5:] {
		op, a, b := edits[0], int(edits[1])<<8|int(edits[2]), int(edits[3])<<8|int(edits[4])
		parts := piece.FindAllString(text, -1)
		if op%2 == 1 {
			parts = strings.SplitAfter(text, "\n")
		}
		if len(parts) == 0 {
			return text
		}
		a, from := a%len(parts), b%len(parts)
		switch op / 2 % 5 {
		case 0:
			parts[a] = parts[from]
		case 1:
			parts[a] = ""
		case 2:
			parts[a], parts[from] = parts[from], parts[a]
		case 3:
			parts[a] = replacements[b%len(replacements)]
		case 4:
			if word := words.FindString(parts[a]); word != "" {
				name := names[b%len(names)]
				parts = []string{words.ReplaceAllStringFunc(text, func(w string) string {
					if w == word {
						return name
					}
					return w
				})}
			}
		}
		text = strings.Join(parts, "")
	}
	return text
}

var nameLine = regexp.MustCompile(`(?m)^name[ \t]*=[ \t]*"([a-z0-9_]{1,60})"`)

// specName returns the name that a spec gives itself, so that its file can have it.
func specName(text string) string {
	if m := nameLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "fuzz"
}

// checkFindings checks that findings have rules and places, and can be printed.
func checkFindings(t testing.TB, ds []*diag.Diagnostic) {
	t.Helper()
	if len(ds) == 0 {
		t.Error("want a model or findings, got neither")
	}
	inside := func(s source.Span) bool {
		return s.File != nil && 0 <= s.Start && s.Start <= s.End && s.End <= len(s.File.Text)
	}
	for _, d := range ds {
		if _, ok := diag.Rules[d.Code]; !ok {
			t.Errorf("no rule %s", d.Code)
		}
		if !inside(d.Span) {
			t.Errorf("%s: %q stands at bytes %d to %d of %v", d.Code, d.Message, d.Span.Start, d.Span.End, d.Span.File)
		}
		for _, e := range d.Edits {
			if !inside(e.Span) {
				t.Errorf("%s: the edit %q stands at bytes %d to %d of %v", d.Code, e.New, e.Span.Start, e.Span.End, e.Span.File)
			}
		}
		for _, r := range d.Related {
			if !inside(r.Span) {
				t.Errorf("%s: note %q stands at bytes %d to %d of %v", d.Code, r.Message, r.Span.Start, r.Span.End, r.Span.File)
			}
		}
	}
	var b bytes.Buffer
	if err := diag.WriteText(&b, ds); err != nil {
		t.Error(err)
	}
	if !utf8.Valid(b.Bytes()) || bytes.ContainsFunc(b.Bytes(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		t.Errorf("want findings in UTF-8 without control characters, got %q", &b)
	}
}

// checkWritten writes generated files and checks that the output folder holds these files and no others.
func checkWritten(t testing.TB, files []artifact.Artifact) {
	t.Helper()
	want := map[string]string{}
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Ext(f.Path) != ".go" {
			t.Errorf("the path %q is not local, or not one of a Go file", f.Path)
		}
		want["generated/"+f.Path] = string(f.Data)
	}
	root := t.TempDir()
	dir, err := output.Open(root, "generated")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	changes, err := dir.Compare(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Stage(changes); err != nil {
		t.Fatal(err)
	}
	if err := dir.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := readFiles(t, root, "."); !maps.Equal(got, want) {
		t.Errorf("wrote %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// checkCompiles type-checks generated packages; the catalogue, which needs kernels, is only parsed.
func checkCompiles(t testing.TB, files []artifact.Artifact) {
	t.Helper()
	c := &compiler{t: t, files: map[string][]artifact.Artifact{}, done: map[string]*types.Package{}}
	for _, f := range files {
		c.files[path.Dir(f.Path)] = append(c.files[path.Dir(f.Path)], f)
	}
	for pkg := range c.files {
		if _, err := c.Import(fuzzConfig.GeneratedImport + "/" + pkg); err != nil {
			t.Error(err)
		}
	}
}

// compiler imports generated packages from memory, and all others from where they are.
type compiler struct {
	t     testing.TB
	files map[string][]artifact.Artifact
	done  map[string]*types.Package
}

// runtimePackages imports the packages that generated code uses. All inputs share what was imported.
var runtimePackages = struct {
	sync.Mutex
	types.Importer
}{}

func importRuntime(importPath string) (*types.Package, error) {
	runtimePackages.Lock()
	defer runtimePackages.Unlock()
	if runtimePackages.Importer == nil {
		files, err := exportdata.Files("../..", nil, "./runtime/...")
		if err != nil {
			return nil, err
		}
		runtimePackages.Importer = exportdata.Importer(token.NewFileSet(), files)
	}
	return runtimePackages.Import(importPath)
}

func (c *compiler) Import(importPath string) (*types.Package, error) {
	name, generated := strings.CutPrefix(importPath, fuzzConfig.GeneratedImport+"/")
	if !generated {
		return importRuntime(importPath)
	}
	if p := c.done[name]; p != nil {
		return p, nil
	}
	if len(c.files[name]) == 0 {
		return nil, fmt.Errorf("package %s is not generated", importPath)
	}
	// A file set that all inputs share would grow with every input.
	own := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range c.files[name] {
		p, err := parser.ParseFile(own, f.Path, f.Data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, p)
	}
	if name == "catalogue" {
		return nil, nil
	}
	conf := types.Config{Importer: c, Error: func(err error) { c.t.Error(err) }}
	p, _ := conf.Check(importPath, own, parsed, nil)
	c.done[name] = p
	return p, nil
}
