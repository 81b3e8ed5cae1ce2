package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rawComment begins a comment that gives the reason for a use of the runtime's package raw, on its line or
// the line above.
const rawComment = "//opgen:raw "

// rawAnalyzer lists the ways to the memory behind views that give no reason.
var rawAnalyzer = &analysis.Analyzer{
	Name: "raw",
	Doc:  "list ways to the memory behind views\n\nThe runtime's package raw gives access to the memory behind views, and so do package unsafe, package opimpl and the accessor with which engines bind tasks. No check covers their uses. A use with a reason, in a comment //opgen:raw reason on its line or the one above, is not listed. Nothing links to names of the runtime.",
	Run: func(pass *analysis.Pass) (any, error) {
		if isRuntime(pass) {
			return nil, nil
		}
		near := hasViews(pass)
		for _, file := range pass.Files {
			if !generated(file) {
				(&rawUses{pass, near && !strings.HasSuffix(pass.Fset.Position(file.FileStart).Filename, "_test.go"), reasons(pass.Fset, file)}).check(file)
			}
			linked(pass, file)
		}
		return nil, nil
	},
}

// hasViews reports whether a package handles views.
func hasViews(pass *analysis.Pass) bool {
	for _, t := range pass.TypesInfo.Types {
		if t.Type != nil && (holdsView(t.Type, map[types.Type]bool{}) || isGiven(t.Type)) {
			return true
		}
	}
	return false
}

// rawUses checks a file.
type rawUses struct {
	pass    *analysis.Pass
	views   bool // whether it is a file of a package that handles views, and no test
	reasons map[int]bool
}

func (r *rawUses) check(file *ast.File) {
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); path == runtime+"opimpl" && r.views {
			r.report(spec, "package opimpl, which is for generated code,")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := r.pass.TypesInfo.Uses[id]
		if obj == nil || obj.Pkg() == nil {
			return true
		}
		switch {
		case inRuntime(obj.Pkg(), "raw"):
			r.report(id, "raw."+id.Name)
		case r.views && obj.Pkg().Path() == "unsafe" && !slices.Contains([]string{"Sizeof", "Alignof", "Offsetof"}, id.Name):
			r.report(id, "unsafe."+id.Name)
		case r.views && inRuntime(obj.Pkg(), "task") && isField(obj) && (id.Name == "Memory" || id.Name == "Workers"):
			r.report(id, "task.Accessor."+id.Name)
		}
		return true
	})
}

func isField(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.IsField()
}

func (r *rawUses) report(at ast.Node, what string) {
	if line := r.pass.Fset.Position(at.Pos()).Line; !r.reasons[line] && !r.reasons[line-1] {
		r.pass.Reportf(at.Pos(), "%s gives access to the memory behind a view; give the reason in a comment %sreason", what, rawComment)
	}
}

// linked reports directives that link to names of the runtime. No reason helps: these names change with every
// release.
func linked(pass *analysis.Pass, file *ast.File) {
	for _, g := range file.Comments {
		for _, c := range g.List {
			words := strings.Fields(c.Text)
			if len(words) == 3 && words[0] == "//go:linkname" && strings.HasPrefix(words[2], runtime) {
				pass.Reportf(c.Pos(), "%s is linked to by name, which goes around what the runtime exports", words[2])
			}
		}
	}
}

// reasons returns the lines that hold a reason.
func reasons(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, g := range file.Comments {
		for _, c := range g.List {
			if reason, ok := strings.CutPrefix(c.Text, rawComment); ok && strings.TrimSpace(reason) != "" {
				lines[fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}
