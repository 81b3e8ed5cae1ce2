package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// source is a package that is mutated.
type source struct {
	pkg     *packages.Package
	imports importer
	files   []file
}

type file struct {
	path string
	text []byte
	ast  *ast.File
}

// load reads and type-checks packages.
func load(patterns ...string) ([]*source, error) { return loadIn("", nil, patterns...) }

// loadIn reads and type-checks packages of the module in a folder, with an environment of the go command.
func loadIn(dir string, env []string, patterns ...string) ([]*source, error) {
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Env: env, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) != len(patterns) {
		return nil, fmt.Errorf("%s: want %d packages, got %d", patterns, len(patterns), len(pkgs))
	}
	imports := importer{}
	packages.Visit(pkgs, nil, func(p *packages.Package) { imports[p.PkgPath] = p.Types })
	var out []*source
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		s := &source{pkg: p, imports: imports}
		for i, path := range p.GoFiles {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			s.files = append(s.files, file{path, text, p.Syntax[i]})
		}
		out = append(out, s)
	}
	return out, nil
}

// mutant is a change in one place of one function.
type mutant struct {
	kind     string
	file     *file
	line     int
	old, new string // the text of the place without and with the change
	function int    // the offset in the file of the body of the function, after its opening brace
	body     string // the body with the change, and its closing brace
	returns  bool   // whether the function has results
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s", filepath.Base(m.file.path), m.line, m.kind, oneLine(m.old), oneLine(m.new))
}

// oneLine writes a text in one line, with at most 70 bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 70 {
		s = s[:67] + "..."
	}
	return s
}

// all lists all mutants of files whose names match only. Some of them may not compile. With control set, it
// includes mutants of control flow.
func (s *source) all(only *regexp.Regexp, control bool) []mutant {
	var out []mutant
	for i := range s.files {
		if f := &s.files[i]; only.MatchString(filepath.Base(f.path)) {
			out = append(out, s.mutants(f, control)...)
		}
	}
	return out
}

// choose draws n mutants that compile, one of each kind in turn. It returns fewer if there are fewer.
func (s *source) choose(seed uint64, n int, all []mutant) ([]mutant, error) {
	byKind := map[string][]mutant{}
	for _, m := range all {
		byKind[m.kind] = append(byKind[m.kind], m)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	kinds := slices.Sorted(maps.Keys(byKind))
	for _, k := range kinds {
		r.Shuffle(len(byKind[k]), func(i, j int) { byKind[k][i], byKind[k][j] = byKind[k][j], byKind[k][i] })
	}
	var out []mutant
	for {
		found := false
		for _, k := range kinds {
			if len(byKind[k]) > 0 && len(out) < n {
				out = append(out, byKind[k][0])
				byKind[k] = byKind[k][1:]
				found = true
			}
		}
		if found && len(out) < n {
			continue
		}
		wrong, err := s.wrong(out)
		if err != nil || len(wrong) == 0 {
			return out, err
		}
		out = slices.DeleteFunc(out, func(m mutant) bool { return wrong[m.String()] })
		if !found {
			return out, nil
		}
	}
}

// overlay returns the files of the package with all mutants, by path. A function with mutants begins with a
// switch. It has a case for each mutant, with a copy of the body. The variable chooser selects the case. The
// first mutant has the given number.
func (s *source) overlay(mutants []mutant, number int) map[string]string {
	return s.chosenBy(mutants, number, func(int) string { return chooser }, choosing)
}

// chosenBy returns the files of the package with all mutants, as overlay does. choose returns the expression
// of the switch of a function, for the number of its first mutant. The text declares what these expressions
// use, as a file of the package. It has a %s for the name of the package.
func (s *source) chosenBy(mutants []mutant, number int, choose func(first int) string, text string) map[string]string {
	out := map[string]string{}
	for i := range s.files {
		f := &s.files[i]
		insert, first := map[int]string{}, map[int]int{}
		for n := range mutants {
			if m := &mutants[n]; m.file == f {
				end := ""
				if !m.returns {
					end = "return\n"
				}
				if insert[m.function] == "" {
					first[m.function] = number + n
				}
				insert[m.function] += fmt.Sprintf("case %d:\n%s\n%s", number+n, strings.TrimSuffix(m.body, "}"), end)
			}
		}
		var b strings.Builder
		last := 0
		for _, at := range slices.Sorted(maps.Keys(insert)) {
			b.Write(f.text[last:at])
			fmt.Fprintf(&b, "\nswitch %s {\n%s}\n", choose(first[at]), insert[at])
			last = at
		}
		b.Write(f.text[last:])
		out[f.path] = b.String()
	}
	out[filepath.Join(filepath.Dir(s.files[0].path), chooser+".go")] = fmt.Sprintf(text, s.pkg.Name)
	return out
}

const (
	chooser  = "chosenMutant" // the Go variable that holds the number of the mutant that runs; 0: none
	variable = "OPGEN_MUTANT" // the environment variable that sets it
)

// choosing declares the variable chooser.
const choosing = `package %s

import (
	"os"
	"strconv"
)

var ` + chooser + `, _ = strconv.Atoi(os.Getenv("` + variable + `"))
`

// wrong type-checks the package with mutants and returns those that do not compile.
func (s *source) wrong(mutants []mutant) (map[string]bool, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	texts := s.overlay(mutants, 1)
	for path, text := range texts {
		a, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, a)
	}
	wrong := map[string]bool{}
	conf := types.Config{Importer: s.imports, GoVersion: s.pkg.Types.GoVersion(), Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			return
		}
		at := fset.Position(e.Pos)
		before := texts[at.Filename][:at.Offset]
		if c := cases.FindAllStringSubmatch(before, -1); len(c) > 0 {
			n, _ := strconv.Atoi(c[len(c)-1][1]) // no error, as the pattern matches digits only
			wrong[mutants[n-1].String()] = true
		}
	}}
	if _, err := conf.Check(s.pkg.PkgPath, fset, files, nil); err != nil && len(wrong) == 0 {
		return nil, err
	}
	return wrong, nil
}

// cases finds the cases of the switches in an overlay.
var cases = regexp.MustCompile(`(?m)^case (\d+):$`)

// importer gives the mutated packages, and all packages that they import directly or indirectly, by path.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("want a package that the mutated ones import, got %s", path)
}
