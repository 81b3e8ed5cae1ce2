package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	goimporter "go/importer"
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

// source is a package to be mutated.
type source struct {
	pkg   *packages.Package
	files []file
}

type file struct {
	path string
	text []byte
	ast  *ast.File
}

// load reads and type-checks a package.
func load(pattern string) (*source, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}, pattern)
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 {
		return nil, fmt.Errorf("%s is %d packages, want one", pattern, len(pkgs))
	}
	p := pkgs[0]
	if len(p.Errors) > 0 {
		return nil, p.Errors[0]
	}
	s := &source{pkg: p}
	for i, path := range p.GoFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file{path, text, p.Syntax[i]})
	}
	return s, nil
}

// mutant is a change of one place of one function.
type mutant struct {
	kind     string
	file     *file
	line     int
	old, new string // the text of the place
	function int    // offset of the body, behind its brace, of the function in which the place is
	body     string // the body with the change, and its brace
	returns  bool   // whether the function has results
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s", filepath.Base(m.file.path), m.line, m.kind, oneLine(m.old), oneLine(m.new))
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 70 {
		s = s[:67] + "..."
	}
	return s
}

// choose draws n mutants that compile, in turn of each kind, of files whose names match only.
func (s *source) choose(seed uint64, n int, only *regexp.Regexp) ([]mutant, error) {
	byKind := map[string][]mutant{}
	for i := range s.files {
		if f := &s.files[i]; only.MatchString(filepath.Base(f.path)) {
			for _, m := range s.mutants(f) {
				byKind[m.kind] = append(byKind[m.kind], m)
			}
		}
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

// overlay returns the files of the package, by path, with all mutants in them: a function with mutants
// begins with a switch that has a copy of its body for each. A variable chooses.
func (s *source) overlay(mutants []mutant) map[string]string {
	out := map[string]string{}
	for i := range s.files {
		f := &s.files[i]
		insert := map[int]string{}
		for n := range mutants {
			if m := &mutants[n]; m.file == f {
				end := ""
				if !m.returns {
					end = "return\n"
				}
				insert[m.function] += fmt.Sprintf("case %d:\n%s\n%s", n+1, strings.TrimSuffix(m.body, "}"), end)
			}
		}
		var b strings.Builder
		last := 0
		for _, at := range slices.Sorted(maps.Keys(insert)) {
			b.Write(f.text[last:at])
			fmt.Fprintf(&b, "\nswitch %s {\n%s}\n", chooser, insert[at])
			last = at
		}
		b.Write(f.text[last:])
		out[f.path] = b.String()
	}
	out[filepath.Join(filepath.Dir(s.files[0].path), chooser+".go")] = fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
)

var %s, _ = strconv.Atoi(os.Getenv(%q))
`, s.pkg.Name, chooser, variable)
	return out
}

const (
	chooser  = "chosenMutant" // the Go variable that holds the number of the mutant that runs; 0: none
	variable = "OPGEN_MUTANT" // the environment variable that sets it
)

// wrong type-checks the package with mutants and returns those that do not compile.
func (s *source) wrong(mutants []mutant) (map[string]bool, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	texts := s.overlay(mutants)
	for path, text := range texts {
		a, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, a)
	}
	wrong := map[string]bool{}
	conf := types.Config{Importer: importer{s.pkg.Imports}, GoVersion: s.pkg.Types.GoVersion(), Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			return
		}
		at := fset.Position(e.Pos)
		before := texts[at.Filename][:at.Offset]
		if c := cases.FindAllStringSubmatch(before, -1); len(c) > 0 {
			n, _ := strconv.Atoi(c[len(c)-1][1]) // digits, as the pattern says
			wrong[mutants[n-1].String()] = true
		}
	}}
	if _, err := conf.Check(s.pkg.PkgPath, fset, files, nil); err != nil && len(wrong) == 0 {
		return nil, err
	}
	return wrong, nil
}

var cases = regexp.MustCompile(`(?m)^case (\d+):$`)

// importer finds packages among those that are imported, and in the standard library.
type importer struct{ known map[string]*packages.Package }

func (i importer) Import(path string) (*types.Package, error) {
	if p := i.known[path]; p != nil {
		return p.Types, nil
	}
	return goimporter.Default().Import(path)
}

// opposite gives for each operator the one that takes its place.
var opposite = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
	token.LAND: token.LOR, token.LOR: token.LAND, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// mutants lists all mutants of a file, in the order of their places.
func (s *source) mutants(f *file) []mutant {
	fset := s.pkg.Fset
	var out []mutant
	var function *ast.BlockStmt // the outermost function that is being walked
	var returns bool
	replace := func(kind string, from, to token.Pos, text string) {
		if function == nil || to > function.End() {
			return
		}
		lo, hi := fset.Position(from).Offset, fset.Position(to).Offset
		first, last := fset.Position(function.Lbrace).Offset+1, fset.Position(function.End()).Offset
		body := string(f.text[first:lo]) + text + string(f.text[hi:last])
		out = append(out, mutant{kind, f, fset.Position(from).Line, string(f.text[lo:hi]), text, first, body, returns})
	}
	src := func(n ast.Node) string {
		var b bytes.Buffer
		format.Node(&b, fset, n) // of a tree that was parsed, into memory: cannot fail
		return b.String()
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			function, returns = n.Body, n.Type.Results != nil
		case *ast.FuncLit:
			if function == nil || n.Pos() > function.End() {
				function, returns = n.Body, n.Type.Results != nil
			}
		case *ast.BinaryExpr:
			if op, ok := opposite[n.Op]; ok {
				replace("operator", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
			}
		case *ast.AssignStmt:
			if op, ok := opposite[n.Tok]; ok {
				replace("operator", n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), op.String())
			}
			if n.Tok != token.DEFINE {
				replace("statement", n.Pos(), n.End(), "")
			}
		case *ast.IncDecStmt:
			replace("statement", n.Pos(), n.End(), "")
		case *ast.ExprStmt:
			replace("statement", n.Pos(), n.End(), "")
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				replace("sign", n.Pos(), n.End(), src(n.X))
			}
			if n.Op == token.NOT {
				replace("operator", n.Pos(), n.End(), src(n.X))
			}
		case *ast.ReturnStmt:
			for _, x := range n.Results {
				if s.isNumber(x) {
					replace("sign", x.Pos(), x.End(), "-("+src(x)+")")
				}
			}
		case *ast.IndexExpr:
			if t := s.pkg.TypesInfo.Types[n.Index]; t.IsValue() && s.isNumber(n.Index) {
				replace("index", n.Index.Pos(), n.Index.End(), src(n.Index)+"+1")
			}
		case *ast.RangeStmt:
			if s.isNumber(n.X) {
				replace("bound", n.X.Pos(), n.X.End(), src(n.X)+"-1")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "r" && (n.Sel.Name == "Lo" || n.Sel.Name == "Hi") {
				replace("bound", n.Pos(), n.End(), map[string]string{"Lo": "(r.Lo+1)", "Hi": "(r.Hi-1)"}[n.Sel.Name])
			}
		case *ast.BasicLit:
			if n.Kind == token.INT {
				replace("constant", n.Pos(), n.End(), map[string]string{"0": "1", "1": "2", "2": "3"}[n.Value]+strings.Repeat("7", len(n.Value)/3))
			}
		case *ast.CallExpr:
			s.call(n, src, replace)
		}
		return true
	})
	return slices.DeleteFunc(out, func(m mutant) bool { return m.old == m.new || m.kind == "constant" && m.new == "" })
}

// call lists the mutants of a call.
func (s *source) call(n *ast.CallExpr, src func(ast.Node) string, replace func(kind string, from, to token.Pos, text string)) {
	for i := 1; i < len(n.Args); i++ {
		a, b := src(n.Args[i-1]), src(n.Args[i])
		if a != b && !s.commutes(n) {
			replace("arguments", n.Args[i-1].Pos(), n.Args[i].End(), b+", "+a)
		}
	}
	method, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) == 0 {
		return
	}
	switch method.Sel.Name {
	case "At", "Lane", "Set", "Put", "Add", "Span", "Mat":
		if s.isNumber(n.Args[0]) {
			replace("index", n.Args[0].Pos(), n.Args[0].End(), src(n.Args[0])+"+1")
		}
	}
	switch method.Sel.Name {
	case "Set", "Put", "Add":
		if len(n.Args) == 2 && s.isNumber(n.Args[1]) {
			replace("sign", n.Args[1].Pos(), n.Args[1].End(), "-("+src(n.Args[1])+")")
		}
	}
}

// commutes reports whether a call does not care about the order of its arguments.
func (s *source) commutes(n *ast.CallExpr) bool {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name == "min" || f.Name == "max"
	case *ast.SelectorExpr:
		return f.Sel.Name == "Dot" || f.Sel.Name == "SquaredDistance" || f.Sel.Name == "AbsDistance"
	}
	return false
}

// isNumber reports whether an expression is a number, or of a type that stands for one.
func (s *source) isNumber(x ast.Expr) bool {
	t := s.pkg.TypesInfo.TypeOf(x)
	if t == nil {
		return false
	}
	if p, ok := t.(*types.TypeParam); ok {
		return !strings.Contains(p.Constraint().String(), "Element")
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}
