package kernelcheck

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/opgen/opgen/internal/diag"
)

// runsStep reports whether a method has the form of a step: it is exported, and its first argument is
// an *op.Ctx.
func (c *checker) runsStep(m *method) bool {
	if !m.decl.Name.IsExported() || m.decl.Type.Params.NumFields() < 2 {
		return false
	}
	return c.is(m.file, m.decl.Type.Params.List[0].Type, true, c.Runtime+"/op", "Ctx", nil) == yes
}

// method checks the receiver and the signature of a method.
func (c *checker) method(w *want, m wantMethod, have *method) {
	fn := have.decl
	recv := fn.Recv.List[0].Type
	if _, star := recv.(*ast.StarExpr); star {
		c.list.Add(diag.KernelType, have.file.span(recv), "%s has a pointer as receiver, but the catalogue registers values of %s", m.name, w.name).
			Hinted("remove the star: a kernel keeps nothing from call to call")
		return
	}
	_, params := receiver(recv)
	if n := len(w.op.Types); len(params) != n {
		return // the compiler reports it here
	}
	wrong := func(at ast.Node, what, want string, got ast.Expr) {
		c.list.Add(diag.KernelSignature, have.file.span(at), "%s of %s: want %s %s, got %s", m.name, w.name, what, want, types.ExprString(got)).
			Hinted("the method is %s", w.signature(m))
	}
	args := flat(fn.Type.Params)
	results := flat(fn.Type.Results)
	number, returned := 3, 1+len(m.task.Returns)
	if !m.task.Invoked() {
		number = 2
	}
	switch {
	case len(args) != number:
		wrong(fn.Type.Params, "arguments", "as in "+w.signature(m), fn.Type)
		return
	case len(results) != returned:
		wrong(fn.Name, "results", "as in "+w.signature(m), fn.Type)
		return
	}
	if c.is(have.file, args[0], true, c.Runtime+"/op", "Ctx", nil) == no {
		wrong(args[0], "an argument", "*op.Ctx", args[0])
	}
	if c.is(have.file, args[1], true, c.Generated+"/"+w.op.Package, m.task.GoName, params) == no {
		wrong(args[1], "an argument", "*"+w.op.Package+"."+m.task.GoName+w.params(), args[1])
	}
	if number == 3 && c.is(have.file, args[2], false, c.Runtime+"/op", "Range", nil) == no {
		wrong(args[2], "an argument", "op.Range", args[2])
	}
	if id, ok := results[returned-1].(*ast.Ident); ok && id.Name != "error" && types.Universe.Lookup(id.Name) != nil {
		wrong(id, "a result", "error", id)
	}
}

// flat returns the type of each parameter or result.
func flat(l *ast.FieldList) []ast.Expr {
	var out []ast.Expr
	if l == nil {
		return nil
	}
	for _, f := range l.List {
		out = append(out, slices.Repeat([]ast.Expr{f.Type}, max(1, len(f.Names)))...)
	}
	return out
}

// answer is what syntax tells of a type.
type answer uint8

const (
	unknown answer = iota // a name of the package of kernels, which may be an alias
	yes
	no
)

// is reports whether a type is a named one of a package, or a pointer to it, with type arguments.
func (c *checker) is(f *file, x ast.Expr, pointer bool, pkg, name string, args []ast.Expr) answer {
	if p, ok := x.(*ast.ParenExpr); ok {
		return c.is(f, p.X, pointer, pkg, name, args)
	}
	star, isStar := x.(*ast.StarExpr)
	if isStar {
		x = star.X
	}
	var got []ast.Expr
	switch i := x.(type) {
	case *ast.IndexExpr:
		x, got = i.X, []ast.Expr{i.Index}
	case *ast.IndexListExpr:
		x, got = i.X, i.Indices
	}
	switch x := x.(type) {
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		from := ""
		if ok {
			from = f.imports[id.Name]
		}
		if from == "" {
			return unknown
		}
		if from != pkg || x.Sel.Name != name || isStar != pointer || !sameNames(got, args) {
			return no
		}
		return yes
	case *ast.Ident:
		if types.Universe.Lookup(x.Name) == nil {
			return unknown
		}
	}
	return no
}

// sameNames reports whether type arguments are the same. It takes those for the same that are no names.
func sameNames(a, b []ast.Expr) bool {
	return slices.EqualFunc(a, b, func(x, y ast.Expr) bool {
		p, ok1 := x.(*ast.Ident)
		q, ok2 := y.(*ast.Ident)
		return !ok1 || !ok2 || p.Name == q.Name
	})
}
