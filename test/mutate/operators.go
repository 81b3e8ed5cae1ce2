package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// opposite gives, for each operator, the operator that replaces it.
var opposite = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
	token.LAND: token.LOR, token.LOR: token.LAND, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// mutants lists all mutants of a file, in the order of their places. With control set, it includes the
// mutants of method control.
func (s *source) mutants(f *file, control bool) []mutant {
	fset := s.pkg.Fset
	var out []mutant
	var function *ast.BlockStmt // the body of the current outermost function
	var returns bool            // whether it has results
	replace := func(kind string, from, to token.Pos, text string) {
		// Types of parameters, such as [4]int, hold numbers too, and stand before the body.
		if function == nil || from < function.Lbrace || to > function.End() {
			return
		}
		lo, hi := fset.Position(from).Offset, fset.Position(to).Offset
		first, last := fset.Position(function.Lbrace).Offset+1, fset.Position(function.End()).Offset
		body := string(f.text[first:lo]) + text + string(f.text[hi:last])
		out = append(out, mutant{kind, f, fset.Position(from).Line, string(f.text[lo:hi]), text, first, body, returns})
	}
	src := func(n ast.Node) string {
		var b bytes.Buffer
		format.Node(&b, fset, n) // no error, as the node was parsed and the writer is memory
		return b.String()
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			function, returns = n.Body, n.Type.Results != nil
		case *ast.FuncLit:
			if function == nil || n.Pos() > function.End() {
				function, returns = n.Body, n.Type.Results != nil
			}
		case *ast.BinaryExpr:
			if op, ok := opposite[n.Op]; ok {
				replace("operator", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
			}
		case *ast.AssignStmt:
			if op, ok := opposite[n.Tok]; ok {
				replace("operator", n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), op.String())
			}
			if n.Tok != token.DEFINE {
				replace("statement", n.Pos(), n.End(), "")
			}
		case *ast.IncDecStmt:
			replace("statement", n.Pos(), n.End(), "")
		case *ast.ExprStmt:
			replace("statement", n.Pos(), n.End(), "")
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				replace("sign", n.Pos(), n.End(), src(n.X))
			}
			if n.Op == token.NOT {
				replace("operator", n.Pos(), n.End(), src(n.X))
			}
		case *ast.ReturnStmt:
			for _, x := range n.Results {
				if s.isNumber(x) {
					replace("sign", x.Pos(), x.End(), "-("+src(x)+")")
				}
			}
		case *ast.IndexExpr:
			if t := s.pkg.TypesInfo.Types[n.Index]; t.IsValue() && s.isNumber(n.Index) {
				replace("index", n.Index.Pos(), n.Index.End(), src(n.Index)+"+1")
			}
		case *ast.RangeStmt:
			if s.isNumber(n.X) {
				replace("bound", n.X.Pos(), n.X.End(), src(n.X)+"-1")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "r" && (n.Sel.Name == "Lo" || n.Sel.Name == "Hi") {
				replace("bound", n.Pos(), n.End(), map[string]string{"Lo": "(r.Lo+1)", "Hi": "(r.Hi-1)"}[n.Sel.Name])
			}
		case *ast.BasicLit:
			if n.Kind == token.INT {
				replace("constant", n.Pos(), n.End(), map[string]string{"0": "1", "1": "2", "2": "3"}[n.Value]+strings.Repeat("7", len(n.Value)/3))
			}
		case *ast.CallExpr:
			s.call(n, src, replace)
		}
		if control {
			s.control(n, src, replace)
		}
		return true
	})
	return slices.DeleteFunc(out, func(m mutant) bool { return m.old == m.new || m.kind == "constant" && m.new == "" })
}

// call lists the mutants of a call.
func (s *source) call(n *ast.CallExpr, src func(ast.Node) string, replace func(kind string, from, to token.Pos, text string)) {
	for i := 1; i < len(n.Args); i++ {
		a, b := src(n.Args[i-1]), src(n.Args[i])
		if a != b && !s.commutes(n) {
			replace("arguments", n.Args[i-1].Pos(), n.Args[i].End(), b+", "+a)
		}
	}
	method, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) == 0 {
		return
	}
	switch method.Sel.Name {
	case "At", "Lane", "Set", "Put", "Add", "Span", "Mat":
		if s.isNumber(n.Args[0]) {
			replace("index", n.Args[0].Pos(), n.Args[0].End(), src(n.Args[0])+"+1")
		}
	}
	switch method.Sel.Name {
	case "Set", "Put", "Add":
		if len(n.Args) == 2 && s.isNumber(n.Args[1]) {
			replace("sign", n.Args[1].Pos(), n.Args[1].End(), "-("+src(n.Args[1])+")")
		}
	}
}

// commutes reports whether the order of the arguments of a call has no effect.
func (s *source) commutes(n *ast.CallExpr) bool {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name == "min" || f.Name == "max"
	case *ast.SelectorExpr:
		return f.Sel.Name == "Dot" || f.Sel.Name == "SquaredDistance" || f.Sel.Name == "AbsDistance"
	}
	return false
}

// isNumber reports whether the type of an expression is numeric, or a type parameter of numeric types.
func (s *source) isNumber(x ast.Expr) bool {
	t := s.pkg.TypesInfo.TypeOf(x)
	if t == nil {
		return false
	}
	if p, ok := t.(*types.TypeParam); ok {
		return !strings.Contains(p.Constraint().String(), "Element")
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// control lists the mutants of control flow: conditions, jumps and loops.
func (s *source) control(n ast.Node, src func(ast.Node) string, replace func(kind string, from, to token.Pos, text string)) {
	negate := func(x ast.Expr) {
		if x != nil {
			replace("condition", x.Pos(), x.End(), "!("+src(x)+")")
		}
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		negate(n.Cond)
	case *ast.ForStmt:
		negate(n.Cond)
	case *ast.CaseClause:
		for _, x := range n.List {
			if t := s.pkg.TypesInfo.TypeOf(x); t != nil && types.Identical(t.Underlying(), types.Typ[types.Bool]) {
				negate(x)
			}
		}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
			replace("jump", n.Pos(), n.End(), "")
		}
	case *ast.RangeStmt:
		if t := s.pkg.TypesInfo.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Slice); ok {
				x := src(n.X)
				replace("loop", n.X.Pos(), n.X.End(), "("+x+")[min(1, len("+x+")):]")
				replace("loop", n.X.Pos(), n.X.End(), "("+x+")[:max(len("+x+")-1, 0)]")
			}
		}
	}
}
