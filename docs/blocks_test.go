package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"golang.org/x/tools/go/packages"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
)

// A snippet is a block of code of a page, between fences or indented.
type snippet struct {
	page    string // relative to the folder of this test
	heading string // the last one before the block
	line    int
	fence   string // the words after the fence; "" if it is indented
	code    string // without the indent
}

func (b *snippet) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// elsewhere says which test reads or writes the blocks of a page, or those below a heading of it. fenced
// limits that to blocks between fences.
var elsewhere = []struct {
	page, heading string
	fenced        bool
	test          string // the folder of its package, and its name
}{
	{"tutorial.md", "", true, "docs TestTutorial"},
	{"guide.md", "", true, "docs TestGuide"},
	{"cookbook.md", "", true, "test/cookbook TestPage"},
	{"diagnostics.md", "", false, "internal/driver TestDiagnosticsPage"},
	{"plugins.md", "", false, "docs TestProtocol"},
	{"schemas.md", "", true, "test/schemas TestPage"},
	{"architecture.md", "Import levels", true, "docs TestLevels"},
	{"architecture.md", "Folders", true, "docs TestLevels"},
	{"mutants.md", "Mutants of formulas", false, "optest TestFormulaMutants"},
	{"mutants.md", "Mutants of facts", false, "test/facts TestChanges"},
}

// figures lists blocks that no test can check, by page and first line, with the reason.
var figures = map[string]string{
	"architecture.md specs/*.toml --read--> syntax trees --check--> findings": "a drawing of how data flows",
	"commands.md [[rule]]": "a file of another program, Taplo",
	"ranks.md apt-get install gcc pkg-config mpich libmpich-dev": "needs MPI; make mpi runs the same",
	"editors.md {":                         "settings of VS Code",
	"editors.md vim.lsp.config('opgen', {": "settings of Neovim",
	"editors.md [language-server.opgen]":   "settings of Helix",
	"editors.md [[schemas]]":               "a file of another program, Tombi",
}

// TestBlocks checks that a test claims each block of code of the pages. Blocks that no other test reads are
// checked here: commands exist with their flags, specs can be read, formulas can be parsed, Go code compiles
// or is in the file that it names.
func TestBlocks(t *testing.T) {
	t.Parallel()
	c := &checker{}
	n := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "operators/") {
			continue // opgen generates these, and opgen diff compares them
		}
		for _, b := range blocksOf(t, page) {
			n++
			if err := c.claim(t, &b); err != nil {
				t.Errorf("%v: %v:\n%s", &b, err, b.code)
			}
		}
	}
	if n < 150 {
		t.Errorf("found %d blocks: this test looks in the wrong place", n)
	}
}

// TestBlocksAreRefused gives blocks that are wrong in one place.
func TestBlocksAreRefused(t *testing.T) {
	c := &checker{}
	for _, b := range []snippet{
		{code: "make tests\n"},
		{code: "make fuzz FUZZES=5\n"},
		{code: "go test ./kernel\n"},
		{code: "go test ./kernels -run TestNone\n"},
		{code: "go test ./kernels -updates\n"},
		{code: "go run ./examples/digits -epoch 1\n"},
		{code: "go tool opgen gen\n"},
		{code: "go tool opgen check -fromat json\n"},
		{code: "[slots]\ninput = { rôle = \"input\" }\n"},
		{code: "[slots]\ninput = { rol = \"input\", type = \"T\", shape = [] }\n"},
		{code: "specs = 3\nruntime = \"x\"\n"},
		{code: "output[n] = input[n\n"},
		{fence: "toml", code: "# specs/softmax.toml\nformula = \"none\"\n"},
		{fence: "go", code: "session, err := opgen.Opens(catalogue.Register)\n"},
		{fence: "go", code: "p, err := graph.Whole(3)\n"},
		{fence: "python", code: "print(1)\n"},
		{code: "some words\n"},
	} {
		if err := c.claim(t, &b); err == nil {
			t.Errorf("want an error, got none for\n%s", b.code)
		}
	}
}

// blocksOf returns the blocks of a page.
func blocksOf(t *testing.T, page string) []snippet {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []snippet
	lines, heading := strings.SplitAfter(string(text), "\n"), ""
	indented := func(i int) bool { return i < len(lines) && strings.HasPrefix(lines[i], "    ") }
	for i := 0; i < len(lines); i++ {
		b := snippet{page: page, heading: heading, line: i + 1}
		switch {
		case strings.HasPrefix(lines[i], "#"):
			heading = strings.TrimSpace(strings.TrimLeft(lines[i], "#"))
		case strings.HasPrefix(lines[i], "```"):
			b.fence = strings.TrimSpace(strings.TrimPrefix(lines[i], "```"))
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				b.code += lines[i]
			}
			out = append(out, b)
		case indented(i) && (i == 0 || strings.TrimSpace(lines[i-1]) == ""):
			for ; indented(i) || i+1 < len(lines) && strings.TrimSpace(lines[i]) == "" && indented(i+1); i++ {
				b.code += strings.TrimPrefix(lines[i], "    ")
			}
			out = append(out, b)
		}
	}
	return out
}

// checker checks blocks. It reads what they are compared with once.
type checker struct {
	makefile string
	packages map[string]*types.Package // by name
	imports  map[string]*types.Package // by path
	opgen    map[string]string         // what commands of opgen print with -h
}

// claim returns an error if no test reads the block, and it is not right by itself.
func (c *checker) claim(t *testing.T, b *snippet) error {
	for _, e := range elsewhere {
		if e.page != b.page || e.heading != "" && e.heading != b.heading || e.fenced && b.fence == "" {
			continue
		}
		dir, name, _ := strings.Cut(e.test, " ")
		if !hasTest(t, filepath.Join("..", dir), name) {
			return fmt.Errorf("there is no %s", e.test)
		}
		if b.page != "plugins.md" || strings.HasPrefix(b.code, "{") {
			return nil
		}
	}
	first, _, _ := strings.Cut(b.code, "\n")
	if _, ok := figures[b.page+" "+first]; ok {
		return nil
	}
	if first, ok := strings.CutPrefix(first, "# "); ok && b.fence == "toml" {
		return excerpt(filepath.Join("..", first), b.code)
	}
	if first, ok := strings.CutPrefix(first, "// "); ok && b.fence == "go" && filepath.Ext(first) == ".go" {
		return excerpt(filepath.Join("..", first), b.code)
	}
	switch b.fence {
	case "go":
		return c.compiles(t, b.code)
	case "toml":
		return readable(t, b.code)
	case "sh":
		return c.commands(t, b.code)
	case "":
		var errs []string
		for _, check := range []struct {
			what string
			of   func(*testing.T, string) error
		}{{"commands", c.commands}, {"a spec", readable}, {"formulas", formulas}, {"Go", c.compiles}, {"device code", deviceCode}, {"a message", message}} {
			err := check.of(t, b.code)
			if err == nil {
				return nil
			}
			errs = append(errs, check.what+": "+err.Error())
		}
		return fmt.Errorf("want a block that a test claims, but as\n  %s", strings.Join(errs, "\n  "))
	}
	return fmt.Errorf("want sh, toml or go, or a test that reads it, got %q", b.fence)
}

// excerpt checks that a file has the lines of a block, in this order, after the first line, which names it.
// Lines "..." stand for some that are left out.
func excerpt(file, code string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rest := strings.Split(string(text), "\n")
	for _, line := range strings.Split(code, "\n")[1:] {
		if line = strings.TrimSpace(line); line == "..." || line == "" {
			continue
		}
		at := slices.IndexFunc(rest, func(l string) bool { return spaces(l) == spaces(line) })
		if at < 0 {
			return fmt.Errorf("%s does not have the line %q behind the ones before", file, line)
		}
		rest = rest[at+1:]
	}
	return nil
}

// spaces writes a line with single spaces.
func spaces(line string) string { return strings.Join(strings.Fields(line), " ") }

// readable checks that a part of a spec or of opgen.toml can be read: its keys are known, and their values
// have the right kinds. Keys that it lacks are elsewhere.
func readable(t *testing.T, code string) error {
	var keys map[string]any
	if _, err := toml.Decode(code, &keys); err != nil {
		return err
	}
	var list diag.List
	if keys["plugin"] != nil || keys["runtime"] != nil {
		dir := t.TempDir()
		for name, text := range map[string]string{config.Name: code, "go.mod": "module example.com/page\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.1.0\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				return err
			}
		}
		if _, err := config.Load(dir, &list); err != nil {
			return err
		}
	} else {
		spec.Read("page.toml", code, &list)
	}
	for _, d := range list.Sorted() {
		if d.Code != diag.MissingKey && d.Code != diag.NotYet {
			return fmt.Errorf("%s: %s", d.Code, d.Message)
		}
	}
	return nil
}

// formulas checks that lines are a formula. Values without a left side get one.
func formulas(_ *testing.T, code string) error {
	if _, errs := expr.ParseFormula(code); len(errs) == 0 {
		return nil
	}
	var lines []string
	for i, line := range strings.Split(strings.TrimSpace(code), "\n") {
		value, _, _ := strings.Cut(line, "//")
		lines = append(lines, fmt.Sprintf("value%d[a, r] = %s", i, value))
	}
	if _, errs := expr.ParseFormula(strings.Join(lines, "\n")); len(errs) > 0 {
		_, errs = expr.ParseFormula(code)
		return errs[0]
	}
	return nil
}

// sources are the folders in which message and deviceCode look.
var sources = []string{"../cmd", "../internal", "../runtime", "../kernels", "../test", "../optest"}

// leastMessage is how many bytes of the end of a message a test has at least. It may leave out where the
// message comes from.
const leastMessage = 60

// message checks that a test compares a message with the line.
func message(_ *testing.T, code string) error {
	line := strings.TrimSpace(code)
	return found(func(name, text string) bool {
		if !strings.HasSuffix(name, "_test.go") {
			return false
		}
		for at := 0; len(line)-at >= leastMessage; at++ {
			if strings.Contains(text, line[at:]) {
				return true
			}
		}
		return false
	})
}

// deviceCode checks that a declaration of device code is in one that opgen generates or that a test compiles.
func deviceCode(_ *testing.T, code string) error {
	return found(func(name, text string) bool {
		ext := filepath.Ext(name)
		return (ext == ".cu" || ext == ".cuh" || ext == ".golden") && strings.Contains(spaces(text), spaces(code))
	})
}

// found returns an error if no file of the sources is as f says.
func found(f func(name, text string) bool) error {
	for _, dir := range sources {
		var hit bool
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if ext := filepath.Ext(path); ext != ".go" && ext != ".cu" && ext != ".cuh" && ext != ".golden" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil && f(path, string(text)) {
				hit = true
				return filepath.SkipAll
			}
			return err
		})
		if err != nil || hit {
			return err
		}
	}
	return fmt.Errorf("no test and no file of device code has it")
}

// compiles checks that Go statements or declarations have the right types. Names in lower case that they do
// not declare are those of the text around them.
func (c *checker) compiles(t *testing.T, code string) error {
	c.load(t)
	var imports []string
	for name, p := range c.packages {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
			imports = append(imports, fmt.Sprintf("import %s %q\n", name, p.Path()))
		}
	}
	if len(imports) == 0 {
		return fmt.Errorf("want code that uses a package of this module, got none")
	}
	slices.Sort(imports)
	head := "package page\n" + strings.Join(imports, "")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "page.go", head+code, parser.SkipObjectResolution)
	if err != nil {
		body := head + "func page() error {\n" + code + "\nreturn nil }\n"
		if file, err = parser.ParseFile(fset, "page.go", body, parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	var wrong error
	conf := types.Config{Importer: c, Error: func(err error) {
		free := regexp.MustCompile(`undefined: [a-z]\w*$|declared and not used|imported and not used|missing function body|missing return`)
		if wrong == nil && !free.MatchString(err.Error()) {
			wrong = err
		}
	}}
	conf.Check("page", fset, []*ast.File{file}, nil)
	return wrong
}

// Import gives the packages that Go code of pages imports.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.imports[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("want a package that pages may import, got %s", path)
}

// load reads the packages that Go code of pages may import.
func (c *checker) load(t *testing.T) {
	t.Helper()
	if c.packages != nil {
		return
	}
	c.packages, c.imports = map[string]*types.Package{}, map[string]*types.Package{}
	pkgs, err := packages.Load(&packages.Config{Dir: "..", Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile},
		".", "./runtime/partition", "./runtime/graph", "./runtime/op", "./runtime/tensor", "./runtime/dtype", "./runtime/cuda", "./generated/catalogue", "./generated/linear", "./generated/adam",
		"./generate/plugin", "context", "errors", "fmt")
	if err != nil {
		t.Fatal(err)
	}
	packages.Visit(pkgs, nil, func(p *packages.Package) { c.imports[p.PkgPath] = p.Types })
	for _, p := range pkgs {
		c.packages[p.Name] = p.Types
	}
}

var (
	comment    = regexp.MustCompile(`(^|\s)#.*`)
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	word       = regexp.MustCompile(`&&|\|\||[|;]|(?:'[^']*'|"[^"]*"|[^\s;|&'"])+`)
	separators = []string{"&&", "||", "|", ";"}
)

// commands checks that commands exist, with their flags and arguments.
func (c *checker) commands(t *testing.T, code string) error {
	for line := range strings.Lines(code) {
		line = comment.ReplaceAllString(strings.TrimSpace(line), "")
		var words []string
		for _, w := range append(word.FindAllString(line, -1), ";") {
			switch {
			case w == "do" || len(words) == 0 && assignment.MatchString(w):
			case !slices.Contains(separators, w):
				words = append(words, strings.Trim(w, `'"`))
			case len(words) > 0:
				if err := c.command(t, words); err != nil {
					return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
				}
				words = nil
			}
		}
	}
	return nil
}

// command checks a command.
func (c *checker) command(t *testing.T, words []string) error {
	name, args := words[0], words[1:]
	switch {
	case name == "for" || name == "done" || name == "tail" || name == "export":
		return nil
	case name == "git" && len(args) > 0: // the test of package main in cmd/opgen, TestMerge, does what pages say about merges
		return nil
	case name == "make":
		return c.makes(args)
	case name == "python3" && len(args) > 0:
		_, err := os.Stat(filepath.Join("..", args[0]))
		return err
	case name == "./digits":
		return flags("../examples/digits", args, nil)
	case name == "./scaling":
		return flags("../test/scaling", args, nil)
	case strings.HasPrefix(name, "mpiexec.") && len(args) > 2 && args[0] == "-n":
		return c.command(t, args[2:])
	case name == "go" && len(args) > 0:
		return c.goCommand(t, args[0], args[1:])
	}
	return fmt.Errorf("%s is no command that this test knows", name)
}

// makes checks targets and variables of make.
func (c *checker) makes(args []string) error {
	if c.makefile == "" {
		text, err := os.ReadFile("../Makefile")
		if err != nil {
			return err
		}
		c.makefile = string(text)
	}
	for _, arg := range args {
		pattern := `(?m)^` + regexp.QuoteMeta(arg) + `:`
		if name, _, ok := strings.Cut(arg, "="); ok {
			pattern = `(?m)^` + regexp.QuoteMeta(name) + ` \?=`
		}
		if !regexp.MustCompile(pattern).MatchString(c.makefile) {
			return fmt.Errorf("the Makefile has no %s", arg)
		}
	}
	return nil
}

// goCommand checks a use of the go command.
func (c *checker) goCommand(t *testing.T, name string, args []string) error {
	switch name {
	case "get", "mod", "list", "work", "generate":
		return nil
	case "tool":
		if len(args) > 1 && args[0] == "opgen" {
			return c.opgenCommand(t, args[1], args[2:])
		}
	case "build", "vet", "run", "test":
		at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "./") })
		if at < 0 {
			return fmt.Errorf("want a package of this module")
		}
		dir := filepath.Join("..", strings.TrimSuffix(args[at], "..."))
		if files, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(files) == 0 && !strings.HasSuffix(args[at], "...") {
			return fmt.Errorf("there is no package %s", args[at])
		}
		if name == "run" {
			return flags(dir, args[at+1:], nil)
		}
		all := slices.Concat(args[:at], args[at+1:])
		if name == "test" {
			if err := tests(dir, all); err != nil {
				return err
			}
		}
		return flags(dir, all, []string{"run", "bench", "benchmem", "benchtime", "cpu", "count", "v", "tags", "o", "race", "timeout"})
	}
	return fmt.Errorf("go %s is no command that this test knows", name)
}

// tests checks that patterns of tests and benchmarks match some.
func tests(dir string, args []string) error {
	for i, arg := range args {
		kind := map[string]string{"-run": "Test|Example", "-bench": "Benchmark"}[arg]
		if kind == "" || i+1 == len(args) || args[i+1] == "^$" {
			continue
		}
		pattern, err := regexp.Compile(strings.Split(args[i+1], "/")[0])
		if err != nil {
			return err
		}
		if !anyMatch(dir, `(?m)^func ((?:`+kind+`)\w*)\(`, pattern.MatchString) {
			return fmt.Errorf("%s has no test that %s matches", dir, args[i+1])
		}
	}
	return nil
}

// flags checks that a package declares the flags among the arguments, or that they are known ones.
func flags(dir string, args, known []string) error {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || slices.Contains(known, name) {
			continue
		}
		if !anyMatch(dir, `\.(?:Bool|Int|Int64|Uint64|Float64|String|Duration|Func|Text|)(?:Var)?\([^"\n]*"([\w-]+)"`, func(s string) bool { return s == name }) {
			return fmt.Errorf("%s has no flag %s", dir, arg)
		}
	}
	return nil
}

// anyMatch reports whether the first group of a pattern has a match in the Go files of a folder that is as f
// says.
func anyMatch(dir, pattern string, f func(string) bool) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // no error, as the pattern is right
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			if f(m[1]) {
				return true
			}
		}
	}
	return false
}

// opgenCommand checks a command of opgen and its flags with what -h prints.
func (c *checker) opgenCommand(t *testing.T, name string, args []string) error {
	if c.opgen == nil {
		c.opgen = map[string]string{}
	}
	if _, ok := c.opgen[name]; !ok {
		out, _ := exec.Command("go", "run", "../cmd/opgen", name, "-h").CombinedOutput() // -h may be an error
		c.opgen[name] = string(out)
	}
	help := c.opgen[name]
	if !strings.HasPrefix(help, "usage: opgen "+name) {
		return fmt.Errorf("opgen has no command %s: %s", name, help)
	}
	if at := slices.Index(args, "--"); at >= 0 { // a command of its own, of which the program is checked
		program := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "./") })
		if program < at {
			return fmt.Errorf("want ./ before the program that opgen %s starts", name)
		}
		if err := flags("../examples/"+strings.TrimPrefix(args[program], "./"), args[program+1:], nil); err != nil {
			return err
		}
		args = args[:at]
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && !regexp.MustCompile(`(?m)[\s\[]`+regexp.QuoteMeta(arg)+`\b`).MatchString(help) {
			return fmt.Errorf("opgen %s has no flag %s", name, arg)
		}
	}
	return nil
}
