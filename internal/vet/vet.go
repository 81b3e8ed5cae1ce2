// Package vet checks Go code around operators for what types cannot rule out: arguments that are no plain
// data, memory that is reached behind views' backs, and views that are kept beyond the task.
//
// opgen vet runs the checks; the opgen binary also is a tool for go vet -vettool.
package vet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers lists the checks.
var Analyzers = []*analysis.Analyzer{PlainData, Raw, Kept}

// inRuntime reports whether a package is the runtime's of the given name, wherever the runtime stands.
func inRuntime(p *types.Package, name string) bool {
	return p != nil && strings.HasSuffix(p.Path(), "/runtime/"+name)
}

// functions calls f for each function of a package's files, with its declaration.
func functions(pass *analysis.Pass, f func(*ast.FuncDecl)) {
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f(fn)
			}
		}
	}
}
