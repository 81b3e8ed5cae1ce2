// Package vet checks Go code around operators for mistakes that types do not prevent: arguments that are not
// plain data, access to the memory behind views, and views that are kept beyond the task.
//
// opgen vet runs the checks; the opgen binary also is a tool for go vet -vettool.
package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers lists the checks.
var Analyzers = []*analysis.Analyzer{plainDataAnalyzer, rawAnalyzer, keptAnalyzer}

// runtime is the prefix of the import paths of the runtime. It follows from the import path of this package.
var runtime = strings.TrimSuffix(reflect.TypeFor[keeper]().PkgPath(), "internal/vet") + "runtime/"

// inRuntime reports whether a package is the runtime's of the given name.
func inRuntime(p *types.Package, name string) bool {
	return p != nil && p.Path() == runtime+name
}

// functions calls f for the declaration of each function that has a body.
func functions(pass *analysis.Pass, f func(*ast.FuncDecl)) {
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				f(fn)
			}
		}
	}
}
