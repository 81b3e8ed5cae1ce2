package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// changedAnalyzer finds writes to what a kernel is given besides tensors.
var changedAnalyzer = &analysis.Analyzer{
	Name: "changed",
	Doc:  "find changes of what a kernel is given\n\nAll ranges of a task share its arguments, at the same time and in later runs. A kernel must not change attributes, dimensions, views, the context, or the shape of a view.",
	Run: func(pass *analysis.Pass) (any, error) {
		if isRuntime(pass) {
			return nil, nil
		}
		declared := map[*types.Func]*ast.FuncDecl{}
		functions(pass, func(fn *ast.FuncDecl) {
			if f, ok := pass.TypesInfo.Defs[fn.Name].(*types.Func); ok {
				declared[f] = fn
			}
		})
		changes := map[*types.Var]bool{}
		functions(pass, func(fn *ast.FuncDecl) {
			if !generated(fileOf(pass, fn)) {
				(&changer{pass: pass, body: fn.Body, shared: map[*types.Var]bool{}, declared: declared, changes: changes}).check()
			}
		})
		return nil, nil
	},
}

// changer checks one function.
type changer struct {
	pass     *analysis.Pass
	body     *ast.BlockStmt
	shared   map[*types.Var]bool // local variables that refer to what is shared
	declared map[*types.Func]*ast.FuncDecl
	changes  map[*types.Var]bool // whether a function changes what a parameter refers to, as far as that is known
	quiet    bool
	found    bool
}

func (c *changer) check() {
	c.find()
	ast.Inspect(c.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				c.target(to)
			}
		case *ast.IncDecStmt:
			c.target(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				c.target(n.Key)
				c.target(n.Value)
			}
		case *ast.CallExpr:
			c.call(n)
		}
		return true
	})
}

// find adds the variables that get a slice, a map or a pointer of what is shared.
func (c *changer) find() {
	for changed := true; changed; {
		changed = false
		assign := func(to, value ast.Expr) {
			id, ok := to.(*ast.Ident)
			if !ok {
				return
			}
			v, _ := c.pass.TypesInfo.ObjectOf(id).(*types.Var)
			if v != nil && !c.shared[v] && refers(v.Type(), map[types.Type]bool{}) && c.isShared(value) {
				c.shared[v], changed = true, true
			}
		}
		ast.Inspect(c.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Lhs) == len(n.Rhs) {
					for i, to := range n.Lhs {
						assign(to, n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				if len(n.Names) == len(n.Values) {
					for i, to := range n.Names {
						assign(to, n.Values[i])
					}
				}
			}
			return true
		})
	}
}

// refers reports whether a value of a type refers to memory that its copies share, other than the elements of
// a view.
func refers(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] || holdsView(t, map[types.Type]bool{}) && !isReference(t) {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	case *types.Array:
		return refers(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if refers(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// isShared reports whether an expression is a part of what is shared, or refers to it.
func (c *changer) isShared(e ast.Expr) bool {
	info := c.pass.TypesInfo
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := info.ObjectOf(x).(*types.Var)
		return ok && (c.shared[v] || isGiven(v.Type()))
	case *ast.SelectorExpr:
		return c.isShared(x.X) && !ofCleanup(info, x)
	case *ast.IndexExpr:
		return c.isShared(x.X)
	case *ast.SliceExpr:
		return c.isShared(x.X)
	case *ast.StarExpr:
		return c.isShared(x.X)
	case *ast.UnaryExpr:
		return x.Op == token.AND && c.isShared(x.X)
	case *ast.CallExpr:
		s, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
		if ok && s.Sel.Name == "Shape" {
			sel := info.Selections[s]
			return sel != nil && holdsView(sel.Recv(), map[types.Type]bool{})
		}
	}
	return false
}

// isGiven reports whether a type is a pointer to the arguments of a task or to its context.
func isGiven(t types.Type) bool {
	p, ok := types.Unalias(t).Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok {
		return false
	}
	if inRuntime(n.Obj().Pkg(), "op") && n.Obj().Name() == "Ctx" {
		return true
	}
	u, ok := n.Underlying().(*types.Struct)
	if !ok || !ofOperator(n.Obj().Pkg()) {
		return false
	}
	for f := range u.Fields() {
		if f.Name() == "Attrs" || f.Name() == "Dims" || holdsView(f.Type(), map[types.Type]bool{}) {
			return true
		}
	}
	return false
}

// ofCleanup reports whether an expression is an argument of a cleanup task, such as the state that it frees.
// A cleanup task is one range, and nothing runs after it, so it may change its arguments. Attributes and
// dimensions are those of other tasks, too.
func ofCleanup(info *types.Info, x *ast.SelectorExpr) bool {
	t := info.TypeOf(x.X)
	if t == nil || !isGiven(t) || x.Sel.Name == "Attrs" || x.Sel.Name == "Dims" {
		return false
	}
	n, ok := types.Unalias(types.Unalias(t).Underlying().(*types.Pointer).Elem()).(*types.Named)
	return ok && ofOperator(n.Obj().Pkg()) && n.Obj().Name() == "Cleanup"
}

// ofOperator reports whether a package is one that opgen generates for an operator: it describes the operator
// in a variable, and has a type for its slots.
func ofOperator(p *types.Package) bool {
	if p == nil {
		return false
	}
	_, described := p.Scope().Lookup("Operator").(*types.Var)
	_, slots := p.Scope().Lookup("Slot").(*types.TypeName)
	return described && slots
}

// target reports the target of an assignment if it is a part of what is shared.
func (c *changer) target(e ast.Expr) {
	if e == nil {
		return
	}
	info := c.pass.TypesInfo
	for at := e; ; {
		var base ast.Expr
		switch x := ast.Unparen(at).(type) {
		case *ast.SelectorExpr:
			if info.Selections[x] == nil || ofCleanup(info, x) {
				return
			}
			base = x.X
		case *ast.IndexExpr:
			base = x.X
		case *ast.StarExpr:
			base = x.X
		default:
			return
		}
		t := info.TypeOf(base)
		if t != nil && isReference(t) && c.isShared(base) {
			c.report(e)
			return
		}
		at = base
	}
}

// changing lists functions of Go's library that change their first argument.
var changing = map[string][]string{
	"slices": {"Sort", "SortFunc", "SortStableFunc", "Reverse", "Delete", "DeleteFunc", "Insert", "Replace", "Compact", "CompactFunc"},
	"sort":   {"Sort", "Stable", "Slice", "SliceStable", "Ints", "Float64s", "Strings"},
	"maps":   {"Copy", "Insert", "DeleteFunc"},
}

// call reports arguments that a call changes.
func (c *changer) call(call *ast.CallExpr) {
	info := c.pass.TypesInfo
	if len(call.Args) == 0 {
		return
	}
	switch builtin(info, call) {
	case "copy", "clear", "delete":
		if c.isShared(call.Args[0]) {
			c.report(call.Args[0])
		}
		return
	case "append": // to a part of a slice, of which the rest is overwritten
		if _, ok := ast.Unparen(call.Args[0]).(*ast.SliceExpr); ok && c.isShared(call.Args[0]) {
			c.report(call.Args[0])
		}
		return
	}
	fn := callee(info, call)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	if slices.Contains(changing[fn.Pkg().Path()], fn.Name()) && c.isShared(call.Args[0]) {
		c.report(call.Args[0])
		return
	}
	for i, a := range call.Args {
		if t := info.TypeOf(a); t != nil && !isGiven(t) && refers(t, map[types.Type]bool{}) && c.isShared(a) && c.changedBy(fn, i) {
			c.report(a)
		}
	}
}

// changedBy reports whether a function of the package changes what its parameter i refers to.
func (c *changer) changedBy(fn *types.Func, i int) bool {
	decl, p := c.declared[fn], fn.Signature().Params()
	if decl == nil || p.Len() == 0 {
		return false
	}
	v := p.At(min(i, p.Len()-1))
	if done, ok := c.changes[v]; ok {
		return done
	}
	c.changes[v] = false // while a recursive function is looked at
	inner := &changer{pass: c.pass, body: decl.Body, shared: map[*types.Var]bool{v: true}, declared: c.declared, changes: c.changes, quiet: true}
	inner.check()
	c.changes[v] = inner.found
	return inner.found
}

func (c *changer) report(at ast.Expr) {
	c.found = true
	if !c.quiet {
		c.pass.Reportf(at.Pos(), "%s is changed, which other ranges and later runs share; change a copy", types.ExprString(at))
	}
}
