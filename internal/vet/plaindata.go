package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// plainDataAnalyzer checks that the types of arguments are plain data, unless they are declared unchecked.
var plainDataAnalyzer = &analysis.Analyzer{
	Name: "plaindata",
	Doc:  "check that the types of tasks' arguments are plain data, unless they are declared unchecked\n\nPlans carry arguments, so these hold no pointers, maps, channels, functions or interfaces. What a caller passes is carried as JSON, so its fields are exported.",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok && isArg(pass.TypesInfo.TypeOf(lit)) {
					checkArg(pass, lit)
				}
				return true
			})
		}
		return nil, nil
	},
}

func isArg(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Arg" && inRuntime(n.Obj().Pkg(), "task")
}

// checkArg checks a task.Arg whose type is reflect.TypeFor of something.
func checkArg(pass *analysis.Pass, lit *ast.CompositeLit) {
	fields := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				fields[key.Name] = kv.Value
			}
		}
	}
	if v := fields["Unchecked"]; v != nil && types.ExprString(v) == "true" {
		return
	}
	call, ok := fields["Type"].(*ast.CallExpr)
	if !ok {
		return
	}
	index, ok := call.Fun.(*ast.IndexExpr)
	if !ok {
		return
	}
	t := pass.TypesInfo.TypeOf(index.Index)
	if t == nil {
		return
	}
	slot := "an argument"
	if s := fields["Slot"]; s != nil {
		if c, ok := s.(*ast.CallExpr); ok && len(c.Args) == 1 {
			s = c.Args[0] // of a conversion to int
		}
		slot = "argument " + types.ExprString(s)
	}
	advice := "declare it unchecked, or pass something else"
	if from, ok := fields["From"].(*ast.SelectorExpr); ok && from.Sel.Name == "FromCall" {
		advice = "pass something else, since plans carry what a caller passes"
		if where, what := lost(t, "", map[types.Type]bool{}); what != "" {
			pass.Reportf(call.Pos(), "%s is of type %s, which plans cannot carry: %s is %s; export the fields, or pass something else", slot, t, where, what)
			return
		}
	}
	if where, what := pointer(t, "", map[types.Type]bool{}); what != "" {
		pass.Reportf(call.Pos(), "%s is of type %s, which is not plain data: %s is %s; %s", slot, t, where, what, advice)
	}
}

// lost returns the first part of a type that JSON, in which plans carry what a caller passes, would lose, and
// what it is. A type with a form of its own in JSON loses nothing.
func lost(t types.Type, path string, seen map[types.Type]bool) (where, what string) {
	if seen[t] || hasOwnForm(t) {
		return "", ""
	}
	seen[t] = true
	if path == "" {
		path = "it"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 {
			return path, "a complex number"
		}
	case *types.Slice:
		return lost(u.Elem(), "an element of "+path, seen)
	case *types.Array:
		return lost(u.Elem(), "an element of "+path, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if !f.Exported() {
				return "field " + f.Name(), "not exported"
			}
			if where, what := lost(f.Type(), "field "+f.Name(), seen); what != "" {
				return where, what
			}
		}
	}
	return "", ""
}

// hasOwnForm reports whether a type writes itself as JSON or as text.
func hasOwnForm(t types.Type) bool {
	methods := types.NewMethodSet(types.NewPointer(t))
	return methods.Lookup(nil, "MarshalJSON") != nil || methods.Lookup(nil, "MarshalText") != nil
}

// pointer returns the first part of a type that is not plain data, and what it is. Both are "" if the type is
// plain data. Slices of plain data are plain data, since they are copied.
func pointer(t types.Type, path string, seen map[types.Type]bool) (where, what string) {
	if seen[t] {
		return "", ""
	}
	seen[t] = true
	if path == "" {
		path = "it"
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return path, "a pointer"
	case *types.Map:
		return path, "a map"
	case *types.Chan:
		return path, "a channel"
	case *types.Signature:
		return path, "a function"
	case *types.Interface:
		return path, "an interface"
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return path, "an unsafe pointer"
		}
	case *types.Slice:
		return pointer(u.Elem(), "an element of "+path, seen)
	case *types.Array:
		return pointer(u.Elem(), "an element of "+path, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if where, what := pointer(f.Type(), "field "+f.Name(), seen); what != "" {
				return where, what
			}
		}
	}
	return "", ""
}
