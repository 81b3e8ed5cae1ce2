package vet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// keptAnalyzer finds views that outlive their task. Memory is reused after a task has run.
var keptAnalyzer = &analysis.Analyzer{
	Name: "kept",
	Doc:  "find views that are kept beyond the task\n\nAfter the task has run, the memory behind a view may hold another tensor. Views, and structs of arguments that hold views, must not be put into package variables, into what a parameter or receiver points to, into channels or into goroutines.",
	Run: func(pass *analysis.Pass) (any, error) {
		if strings.HasPrefix(pass.Pkg.Path(), runtime) {
			return nil, nil // the runtime itself makes views
		}
		functions(pass, func(fn *ast.FuncDecl) {
			if !ast.IsGenerated(fileOf(pass, fn)) {
				(&keeper{pass, fn}).check()
			}
		})
		return nil, nil
	},
}

func fileOf(pass *analysis.Pass, fn *ast.FuncDecl) *ast.File {
	for _, f := range pass.Files {
		if f.FileStart <= fn.Pos() && fn.Pos() < f.FileEnd {
			return f
		}
	}
	return nil
}

// keeper checks one function.
type keeper struct {
	pass *analysis.Pass
	fn   *ast.FuncDecl
}

func (k *keeper) check() {
	ast.Inspect(k.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				where := k.outlives(to)
				if where == "" {
					continue
				}
				if len(n.Lhs) != len(n.Rhs) { // the results of a call
					k.report(to, k.pass.TypesInfo.TypeOf(to), "is kept in "+where)
				} else {
					k.value(n.Rhs[i], "is kept in "+where)
				}
			}
		case *ast.SendStmt:
			k.value(n.Value, "is sent to a channel")
		case *ast.GoStmt:
			for _, a := range n.Call.Args {
				k.value(a, "is given to a goroutine")
			}
			k.value(n.Call.Fun, "is given to a goroutine")
		}
		return true
	})
}

// value reports a value that holds a view. A function literal holds the variables that it captures, and a
// method value its receiver.
func (k *keeper) value(v ast.Expr, how string) {
	v = ast.Unparen(v)
	switch v := v.(type) {
	case *ast.FuncLit:
		k.captured(v, how)
		return
	case *ast.SelectorExpr:
		if s := k.pass.TypesInfo.Selections[v]; s != nil && s.Kind() == types.MethodVal {
			k.report(v, s.Recv(), how)
			return
		}
	case *ast.CallExpr:
		if id, ok := ast.Unparen(v.Fun).(*ast.Ident); ok && id.Name == "append" {
			for _, a := range v.Args[1:] {
				k.value(a, how)
			}
			return
		}
	}
	k.report(v, k.pass.TypesInfo.TypeOf(v), how)
}

// captured reports the first variable with a view that a function literal captures.
func (k *keeper) captured(f *ast.FuncLit, how string) {
	done := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || done {
			return !done
		}
		if v, ok := k.pass.TypesInfo.Uses[id].(*types.Var); ok && !v.IsField() && (v.Pos() < f.Pos() || v.Pos() > f.End()) && holdsView(v.Type(), map[types.Type]bool{}) {
			k.report(id, v.Type(), how)
			done = true
		}
		return !done
	})
}

func (k *keeper) report(at ast.Expr, t types.Type, how string) {
	if t != nil && holdsView(t, map[types.Type]bool{}) {
		short := func(p *types.Package) string { return p.Name() }
		k.pass.Reportf(at.Pos(), "%s, %s, %s beyond the task, when its memory may be another tensor's", types.ExprString(at), types.TypeString(t, short), how)
	}
}

// outlives describes the target of an assignment if it outlives the function: a package variable, or something that a
// parameter or the receiver points to. Otherwise it returns "".
func (k *keeper) outlives(to ast.Expr) string {
	indirect := false
	for at := to; ; {
		switch x := ast.Unparen(at).(type) {
		case *ast.Ident:
			v, ok := k.pass.TypesInfo.ObjectOf(x).(*types.Var)
			switch {
			case !ok:
				return ""
			case v.Parent() == k.pass.Pkg.Scope():
				return "the package variable " + v.Name()
			case indirect && k.param(v):
				return types.ExprString(to) + ", to which its caller has access"
			}
			return ""
		case *ast.SelectorExpr:
			if s := k.pass.TypesInfo.Selections[x]; s == nil { // a variable of another package
				v, ok := k.pass.TypesInfo.Uses[x.Sel].(*types.Var)
				if ok && !v.IsField() {
					return "the package variable " + types.ExprString(x)
				}
				return ""
			}
			indirect = indirect || isReference(k.pass.TypesInfo.TypeOf(x.X))
			at = x.X
		case *ast.StarExpr:
			indirect, at = true, x.X
		case *ast.IndexExpr:
			indirect = indirect || isReference(k.pass.TypesInfo.TypeOf(x.X))
			at = x.X
		default:
			return ""
		}
	}
}

// isReference reports whether a value of a type refers to memory that copies of the value share.
func isReference(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// param reports whether a variable is a parameter or the receiver of the function.
func (k *keeper) param(v *types.Var) bool {
	lists := []*ast.FieldList{k.fn.Recv, k.fn.Type.Params}
	for _, l := range lists {
		if l != nil && l.Pos() <= v.Pos() && v.Pos() < l.End() {
			return true
		}
	}
	return false
}

// holdsView reports whether a value of a type is a view, or holds or points to one.
func holdsView(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if n, ok := types.Unalias(t).(*types.Named); ok && inRuntime(n.Obj().Pkg(), "tensor") {
		_, ok := n.Underlying().(*types.Struct)
		return ok
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holdsView(u.Elem(), seen)
	case *types.Slice:
		return holdsView(u.Elem(), seen)
	case *types.Array:
		return holdsView(u.Elem(), seen)
	case *types.Chan:
		return holdsView(u.Elem(), seen)
	case *types.Map:
		return holdsView(u.Key(), seen) || holdsView(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsView(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}
