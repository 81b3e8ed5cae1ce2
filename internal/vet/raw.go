package vet

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rawComment stands on the line of a use of the runtime's package raw, or the one above, and says why it is
// needed.
const rawComment = "//opgen:raw "

// Raw lists the uses of the runtime's package raw that give no reason.
var Raw = &analysis.Analyzer{
	Name: "raw",
	Doc:  "list uses of the runtime's package raw\n\nThe package hands out the memory behind views, so what it is used for escapes all checks. A use that says why, in a comment //opgen:raw reason on its line or the one above, is not listed.",
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
						pass.Reportf(id.Pos(), "raw.%s hands out memory behind a view; say why in a comment %sreason", id.Name, rawComment)
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
