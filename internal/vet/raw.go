package vet

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rawComment begins a comment that gives the reason for a use of the runtime's package raw, on its line or the line
// above.
const rawComment = "//opgen:raw "

// rawAnalyzer lists the uses of the runtime's package raw that give no reason.
var rawAnalyzer = &analysis.Analyzer{
	Name: "raw",
	Doc:  "list uses of the runtime's package raw\n\nThe package gives access to the memory behind views, so no check covers its uses. A use with a reason, in a comment //opgen:raw reason on its line or the one above, is not listed.",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			explained := reasons(pass.Fset, file)
			ast.Inspect(file, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if obj := pass.TypesInfo.Uses[id]; obj != nil && inRuntime(obj.Pkg(), "raw") && !inRuntime(pass.Pkg, "raw") {
					if line := pass.Fset.Position(id.Pos()).Line; !explained[line] && !explained[line-1] {
						pass.Reportf(id.Pos(), "raw.%s gives access to the memory behind a view; give the reason in a comment %sreason", id.Name, rawComment)
					}
				}
				return true
			})
		}
		return nil, nil
	},
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
