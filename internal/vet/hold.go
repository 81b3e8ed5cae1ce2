package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// hidden holds the local variables of a function whose types do not tell that they hold views, such as a
// function or an any, with the type of what they hold.
type hidden map[*types.Var]types.Type

// find adds the variables to which a function assigns what holds a view.
func (k *keeper) find() {
	for changed := true; changed; {
		changed = false
		assign := func(to *ast.Ident, value ast.Expr) {
			v, _ := k.pass.TypesInfo.ObjectOf(to).(*types.Var)
			if v == nil || k.hidden[v] != nil || !opaque(v.Type()) {
				return
			}
			if _, t := k.holder(value); t != nil {
				k.hidden[v], changed = t, true
			}
		}
		ast.Inspect(k.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if id := root(to); id != nil {
						assign(id, n.Rhs[min(i, len(n.Rhs)-1)])
					}
				}
			case *ast.ValueSpec:
				for i, to := range n.Names {
					if len(n.Values) > 0 {
						assign(to, n.Values[min(i, len(n.Values)-1)])
					}
				}
			}
			return true
		})
	}
}

// root returns the variable of which an expression is a part, or nil.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// opaque reports whether a value of a type may hold views of which the type says nothing.
func opaque(t types.Type) bool { return mayHold(t, map[types.Type]bool{}) }

func mayHold(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] || types.Identical(t, types.Universe.Lookup("error").Type()) {
		return false
	}
	seen[t] = true
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return mayStandFor(p.Constraint().Underlying().(*types.Interface), seen)
	}
	switch u := t.Underlying().(type) {
	case *types.Signature, *types.Interface:
		return true
	case *types.Pointer:
		return mayHold(u.Elem(), seen)
	case *types.Slice:
		return mayHold(u.Elem(), seen)
	case *types.Array:
		return mayHold(u.Elem(), seen)
	case *types.Chan:
		return mayHold(u.Elem(), seen)
	case *types.Map:
		return mayHold(u.Key(), seen) || mayHold(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if mayHold(f.Type(), seen) {
				return true
			}
		}
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	}
	return false
}

// mayStandFor is mayHold for a type parameter with a constraint. Those of element types stand for numbers
// only.
func mayStandFor(constraint *types.Interface, seen map[types.Type]bool) bool {
	if constraint.IsMethodSet() {
		return true
	}
	for t := range constraint.EmbeddedTypes() {
		switch t := t.Underlying().(type) {
		case *types.Union:
			for term := range t.Terms() {
				if holdsView(term.Type(), map[types.Type]bool{}) || mayHoldTerm(term.Type(), seen) {
					return true
				}
			}
		case *types.Interface:
			if !t.IsMethodSet() && mayStandFor(t, seen) {
				return true
			}
		default:
			if mayHold(t, seen) {
				return true
			}
		}
	}
	return false
}

// mayHoldTerm is mayHold for a term of a union, which may be a constraint itself.
func mayHoldTerm(t types.Type, seen map[types.Type]bool) bool {
	if c, ok := t.Underlying().(*types.Interface); ok {
		return mayStandFor(c, seen)
	}
	return mayHold(t, seen)
}

// holder returns the part of an expression that is or holds a view, and its type, or nil. A function literal
// holds the variables that it captures, and a method value its receiver. What a call returns may hold its
// arguments.
func (k *keeper) holder(e ast.Expr) (ast.Expr, types.Type) {
	e = ast.Unparen(e)
	t := k.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return nil, nil
	}
	switch x := e.(type) {
	case *ast.FuncLit:
		return k.captures(x)
	case *ast.SelectorExpr:
		if s := k.pass.TypesInfo.Selections[x]; s != nil && s.Kind() == types.MethodVal {
			if holdsView(s.Recv(), map[types.Type]bool{}) {
				return x, s.Recv()
			}
			return k.holder(x.X)
		}
	case *ast.CallExpr:
		return k.result(x, t)
	}
	if holdsView(t, map[types.Type]bool{}) {
		return e, t
	}
	if !opaque(t) {
		return nil, nil
	}
	switch x := e.(type) {
	case *ast.UnaryExpr:
		return k.holder(x.X)
	case *ast.TypeAssertExpr:
		return k.holder(x.X)
	case *ast.CompositeLit:
		for _, value := range x.Elts {
			if kv, ok := value.(*ast.KeyValueExpr); ok {
				value = kv.Value
			}
			if at, t := k.holder(value); t != nil {
				return at, t
			}
		}
	}
	if id := root(e); id != nil {
		if v, ok := k.pass.TypesInfo.ObjectOf(id).(*types.Var); ok && k.hidden[v] != nil {
			return e, k.hidden[v]
		}
	}
	return nil, nil
}

// result is holder for a call, whose type is t.
func (k *keeper) result(call *ast.CallExpr, t types.Type) (ast.Expr, types.Type) {
	args := call.Args
	switch {
	case k.pass.TypesInfo.Types[call.Fun].IsType(): // a conversion
	case builtin(k.pass.TypesInfo, call) == "append": // to what may outlive the function already
		args = args[1:]
	case holdsView(t, map[types.Type]bool{}):
		return call, t
	case opaqueResult(t):
		if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			args = append(slices.Clone(args), s.X)
		}
	default:
		return nil, nil
	}
	for _, a := range args {
		if at, t := k.holder(a); t != nil {
			return at, t
		}
	}
	return nil, nil
}

// opaqueResult is opaque for the type of a call, which is a tuple if there are several results.
func opaqueResult(t types.Type) bool {
	if all, ok := t.(*types.Tuple); ok {
		for v := range all.Variables() {
			if opaque(v.Type()) || holdsView(v.Type(), map[types.Type]bool{}) {
				return true
			}
		}
		return false
	}
	return opaque(t)
}

func builtin(info *types.Info, call *ast.CallExpr) string {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := info.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

// captures returns the first variable with a view that a function literal captures.
func (k *keeper) captures(f *ast.FuncLit) (at ast.Expr, held types.Type) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || held != nil {
			return held == nil
		}
		v, ok := k.pass.TypesInfo.Uses[id].(*types.Var)
		if !ok || v.IsField() || f.Pos() <= v.Pos() && v.Pos() < f.End() {
			return true
		}
		if holdsView(v.Type(), map[types.Type]bool{}) {
			at, held = id, v.Type()
		} else if k.hidden[v] != nil {
			at, held = id, k.hidden[v]
		}
		return true
	})
	return at, held
}

// calls reports what a call does with views that its function need not treat as views: it takes an interface
// or a function, or a type parameter stands for the view.
func (k *keeper) call(call *ast.CallExpr) {
	info := k.pass.TypesInfo
	if info.Types[call.Fun].IsType() {
		k.converted(info.TypeOf(call), call.Args[0])
		return
	}
	if builtin(info, call) == "panic" {
		if at, t := k.holder(call.Args[0]); t != nil {
			k.report(at, t, "is a value of a panic, which is kept")
		}
		return
	}
	sig, ok := info.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok { // another built-in function
		return
	}
	fn := callee(info, call)
	if fn != nil && trusted(fn) {
		return
	}
	if t := k.instance(call); t != nil {
		k.report(call.Fun, t, "is what a type parameter of the function stands for, which may keep it")
		return
	}
	for i, a := range call.Args {
		at, t := k.holder(a)
		if t == nil {
			continue
		}
		p := paramType(sig, i, call.Ellipsis.IsValid())
		switch {
		case p == nil || holdsView(p, map[types.Type]bool{}): // the function is checked where it is declared
		case types.IsInterface(p) && !types.IsInterface(info.TypeOf(a)):
			k.converted(p, a)
		case !k.passes(fn, call, i):
			k.report(at, t, "is held by what is passed to a function that may keep it")
		}
	}
}

func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := ast.Unparen(fun).(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := info.Uses[id].(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// harmless lists packages of Go's library whose functions keep nothing.
var harmless = []string{"cmp", "maps", "slices", "sort", "strings", "bytes", "math"}

// trusted reports whether a function is known to keep nothing: one of the runtime, or of some packages of
// Go's library.
func trusted(fn *types.Func) bool {
	p := fn.Pkg()
	return p != nil && (strings.HasPrefix(p.Path(), runtime) || slices.Contains(harmless, p.Path()))
}

// instance returns the view, or what holds one, for which a type parameter of a called function or of its
// receiver stands.
func (k *keeper) instance(call *ast.CallExpr) types.Type {
	var found types.Type
	look := func(args *types.TypeList) {
		for t := range args.Types() {
			if found == nil && holdsView(t, map[types.Type]bool{}) {
				found = t
			}
		}
	}
	ast.Inspect(call.Fun, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if in, ok := k.pass.TypesInfo.Instances[id]; ok {
				look(in.TypeArgs)
			}
		}
		return found == nil
	})
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && found == nil {
		if sel := k.pass.TypesInfo.Selections[s]; sel != nil {
			recv := sel.Recv()
			if p, ok := recv.(*types.Pointer); ok {
				recv = p.Elem()
			}
			if n, ok := types.Unalias(recv).(*types.Named); ok && n.Obj().Pkg() != nil && !strings.HasPrefix(n.Obj().Pkg().Path(), runtime) && n.Obj().Pkg() != k.pass.Pkg {
				look(n.TypeArgs())
			}
		}
	}
	return found
}

func paramType(sig *types.Signature, i int, spread bool) types.Type {
	n := sig.Params().Len()
	if sig.Variadic() && i >= n-1 {
		t := sig.Params().At(n - 1).Type()
		if s, ok := t.Underlying().(*types.Slice); ok && !spread {
			return s.Elem()
		}
		return t
	}
	if i >= n {
		return nil
	}
	return sig.Params().At(i).Type()
}

// passes reports whether a function may get argument i, which holds a view without a type that tells: one
// that keeps it nowhere, or a function literal in a local variable.
func (k *keeper) passes(fn *types.Func, call *ast.CallExpr, i int) bool {
	if fn == nil {
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
			v, ok := k.pass.TypesInfo.Uses[id].(*types.Var)
			return ok && v.Parent() != k.pass.Pkg.Scope() && !k.param(v)
		}
		_, ok := ast.Unparen(call.Fun).(*ast.FuncLit)
		return ok
	}
	n := fn.Signature().Params().Len()
	i = min(i, n-1)
	if fn.Pkg() != k.pass.Pkg {
		var fact passesOn
		return k.pass.ImportObjectFact(fn, &fact) && slices.Contains(fact.Params, i)
	}
	return k.declared[fn] != nil && !k.keeps(fn, i)
}

// keeps reports whether a function of the package keeps its parameter i.
func (k *keeper) keeps(fn *types.Func, i int) bool {
	decl := k.declared[fn]
	v := fn.Signature().Params().At(i)
	if done, ok := k.kept[v]; ok {
		return done
	}
	k.kept[v] = false // while a recursive function is looked at
	inner := &keeper{pass: k.pass, fn: decl, body: decl.Body, hidden: hidden{v: v.Type()}, declared: k.declared, kept: k.kept, quiet: true}
	inner.check()
	k.kept[v] = inner.found
	return inner.found
}

// converted reports a view that becomes an interface.
func (k *keeper) converted(to types.Type, value ast.Expr) {
	t := k.pass.TypesInfo.TypeOf(value)
	if to == nil || t == nil || !types.IsInterface(to) || types.IsInterface(t) {
		return
	}
	if _, ok := types.Unalias(to).(*types.TypeParam); ok {
		return
	}
	if holdsView(t, map[types.Type]bool{}) {
		short := func(p *types.Package) string { return p.Name() }
		k.report(value, t, "becomes "+types.TypeString(to, short)+", of which no type tells that it is a view, and may be kept")
	}
}

// conversions reports views that become interfaces without a call.
func (k *keeper) conversions(n ast.Node) {
	info := k.pass.TypesInfo
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) && n.Tok == token.ASSIGN {
			for i, to := range n.Lhs {
				k.converted(info.TypeOf(to), n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		if n.Type != nil {
			for _, v := range n.Values {
				k.converted(info.TypeOf(n.Type), v)
			}
		}
	case *ast.SendStmt:
		if c, ok := info.TypeOf(n.Chan).Underlying().(*types.Chan); ok {
			k.converted(c.Elem(), n.Value)
		}
	case *ast.CompositeLit:
		k.elements(n)
	}
}

// elements reports views that become interfaces in a composite literal.
func (k *keeper) elements(lit *ast.CompositeLit) {
	t := k.pass.TypesInfo.TypeOf(lit).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	for i, e := range lit.Elts {
		kv, _ := e.(*ast.KeyValueExpr)
		switch u := t.(type) {
		case *types.Struct:
			if kv == nil {
				k.converted(u.Field(i).Type(), e)
			} else if id, ok := kv.Key.(*ast.Ident); ok {
				k.converted(k.pass.TypesInfo.TypeOf(id), kv.Value)
			}
		case interface{ Elem() types.Type }: // a slice, an array or a map
			if kv != nil {
				e = kv.Value
			}
			k.converted(u.Elem(), e)
		}
	}
}
