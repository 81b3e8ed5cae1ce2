package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// keptAnalyzer finds views that outlive their task. Memory is reused after a task has run.
var keptAnalyzer = &analysis.Analyzer{
	Name:      "kept",
	Doc:       "find views that are kept beyond the task\n\nAfter the task has run, the memory behind a view may hold another tensor. Views, and structs of arguments that hold views, must not be put into package variables, into what a parameter or receiver points to, into channels or into goroutines. The same holds for functions that use views. Views do not become interfaces, and are not passed to functions with type parameters, since no type tells then that they are views. A comment //opgen:raw reason, on the line or the one above, says why one may.",
	FactTypes: []analysis.Fact{new(passesOn)},
	Run: func(pass *analysis.Pass) (any, error) {
		if isRuntime(pass) {
			return nil, nil // the runtime itself makes views
		}
		declared, kept := map[*types.Func]*ast.FuncDecl{}, map[*types.Var]bool{}
		functions(pass, func(fn *ast.FuncDecl) {
			if f, ok := pass.TypesInfo.Defs[fn.Name].(*types.Func); ok {
				declared[f] = fn
			}
		})
		functions(pass, func(fn *ast.FuncDecl) {
			if file := fileOf(pass, fn); !generated(file) {
				k := &keeper{pass: pass, fn: fn, body: fn.Body, hidden: hidden{}, declared: declared, kept: kept, reasons: reasons(pass.Fset, file)}
				k.check()
				k.export()
			}
		})
		return nil, nil
	},
}

// passesOn is what other packages know of a function: which of its parameters, of types that do not tell
// whether they hold views, it keeps nowhere.
type passesOn struct{ Params []int }

func (*passesOn) AFact() {}

func (f *passesOn) String() string { return fmt.Sprint("keeps no parameter ", f.Params) }

// export tells other packages which parameters the function does not keep.
func (k *keeper) export() {
	fn, ok := k.pass.TypesInfo.Defs[k.fn.Name].(*types.Func)
	if !ok || !fn.Exported() {
		return
	}
	var fact passesOn
	for i := range fn.Signature().Params().Len() {
		t := fn.Signature().Params().At(i).Type()
		if opaque(t) && !holdsView(t, map[types.Type]bool{}) && !k.keeps(fn, i) {
			fact.Params = append(fact.Params, i)
		}
	}
	if len(fact.Params) > 0 {
		k.pass.ExportObjectFact(fn, &fact)
	}
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
	pass     *analysis.Pass
	fn       *ast.FuncDecl
	body     *ast.BlockStmt
	hidden   hidden
	declared map[*types.Func]*ast.FuncDecl // of the package
	kept     map[*types.Var]bool           // whether a function keeps a parameter, as far as that is known
	reasons  map[int]bool                  // lines that give a reason
	quiet    bool                          // finds, and does not report
	found    bool
}

func (k *keeper) check() {
	k.find()
	ast.Inspect(k.body, func(n ast.Node) bool {
		k.conversions(n)
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				where := k.outlives(to)
				if where == "" {
					continue
				}
				if len(n.Lhs) != len(n.Rhs) { // the results of a call
					k.results(to, n.Rhs[0], "is kept in "+where)
				} else {
					k.value(n.Rhs[i], "is kept in "+where)
				}
			}
		case *ast.RangeStmt:
			for _, to := range []ast.Expr{n.Key, n.Value} {
				if to != nil && n.Tok == token.ASSIGN {
					if where := k.outlives(to); where != "" {
						k.results(to, n.X, "is kept in "+where)
					}
				}
			}
		case *ast.SendStmt:
			k.value(n.Value, "is sent to a channel")
		case *ast.GoStmt:
			for _, a := range n.Call.Args {
				k.value(a, "is given to a goroutine")
			}
			k.value(n.Call.Fun, "is given to a goroutine")
		case *ast.CallExpr:
			k.call(n)
		}
		return true
	})
}

// value reports a value that is or holds a view.
func (k *keeper) value(v ast.Expr, how string) {
	if at, t := k.holder(v); t != nil {
		k.report(at, t, how)
	}
}

// results reports a target that gets one of several results, if its type is that of a view, or if they may
// hold one.
func (k *keeper) results(to, from ast.Expr, how string) {
	if t := k.pass.TypesInfo.TypeOf(to); t != nil && holdsView(t, map[types.Type]bool{}) {
		k.report(to, t, how)
	} else if t != nil && opaque(t) {
		k.value(from, how)
	}
}

func (k *keeper) report(at ast.Expr, t types.Type, how string) {
	k.found = true
	line := k.pass.Fset.Position(at.Pos()).Line
	if k.quiet || k.reasons[line] || k.reasons[line-1] {
		return
	}
	short := func(p *types.Package) string { return p.Name() }
	k.pass.Reportf(at.Pos(), "%s, %s, %s beyond the task, when its memory may be another tensor's", types.ExprString(at), types.TypeString(t, short), how)
}

// outlives describes the target of an assignment if it outlives the function: a package variable, or
// something that a parameter or the receiver points to. Otherwise it returns "".
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
	if n, ok := types.Unalias(t).(*types.Named); ok && (inRuntime(n.Obj().Pkg(), "tensor") || inRuntime(n.Obj().Pkg(), "internal/unlock")) {
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
