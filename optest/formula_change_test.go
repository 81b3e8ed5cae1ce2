package optest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// change is a small change of one line of a formula.
type change struct {
	kind string
	line int
	text string // the line as it is now; "" if it is left out
}

// changes lists the small changes of a formula's lines: names, indices, numbers, operators, functions,
// reductions, terms, conditions, branches, ranges, and lines that are left out. Some of them may not be
// formulas.
func changes(lines []string) []change {
	var out []change
	for i, line := range lines {
		c := &changer{text: line, line: i, seen: map[string]bool{tokens(line): true}}
		c.names(lines)
		f, errs := expr.ParseFormula(line)
		if len(errs) > 0 {
			panic(errs[0])
		}
		for _, fn := range f.Functions {
			for k := 1; k < len(fn.Params); k++ {
				c.swap("arguments", fn.Params[k-1], fn.Params[k])
			}
			c.walk(fn.X)
		}
		for _, s := range f.Statements {
			c.statement(s)
		}
		if len(lines) > 1 {
			c.out = append(c.out, change{"line", i, ""})
		}
		out = append(out, c.out...)
	}
	return out
}

// tokens writes a line without the spaces that mean nothing.
func tokens(line string) string {
	return strings.Join(expr.FormulaLines(line), "\n")
}

// changer collects the changes of one line.
type changer struct {
	text    string
	line    int
	tensors []string // the names that the formula reads elements of, or gives
	strings []string // the strings of the formula, with quotes
	idents  []string // the other names of the line
	seen    map[string]bool
	out     []change
}

// names collects the names that a change can put in place of others.
func (c *changer) names(lines []string) {
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for i, line := range lines {
		f, _ := expr.ParseFormula(line)
		visit := func(n expr.Node) {
			switch n := n.(type) {
			case *expr.Read:
				add(&c.tensors, n.Name)
			case *expr.Ident:
				if i == c.line {
					add(&c.idents, n.Name)
				}
			case *expr.Lit:
				if s, ok := n.Value.(string); ok {
					add(&c.strings, "'"+s+"'")
				}
			}
		}
		for _, fn := range f.Functions {
			expr.Walk(fn.X, visit)
		}
		for _, s := range f.Statements {
			for _, x := range parts(s) {
				expr.Walk(x, visit)
			}
		}
	}
}

// parts lists the expressions of a statement.
func parts(s *expr.Statement) []expr.Node {
	out := append(slices.Clip(s.Targets), s.X)
	for _, b := range s.For {
		out = append(out, b)
	}
	if s.When != nil {
		out = append(out, s.When)
	}
	return out
}

// replace adds the change of the bytes from lo to hi.
func (c *changer) replace(kind string, lo, hi int, text string) {
	line := strings.TrimSpace(c.text[:lo] + text + c.text[hi:])
	if t := tokens(line); !c.seen[t] {
		c.seen[t] = true
		c.out = append(c.out, change{kind, c.line, line})
	}
}

func (c *changer) of(n expr.Node) string { return c.text[n.Pos():n.End()] }

// become adds the change of a node to a text. It keeps parentheses around it.
func (c *changer) become(kind string, n expr.Node, text string) {
	if c.text[n.Pos()] == '(' && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	}
	c.replace(kind, n.Pos(), n.End(), text)
}

// swap adds the change that swaps two nodes.
func (c *changer) swap(kind string, x, y expr.Node) {
	c.replace(kind, x.Pos(), y.End(), c.of(y)+c.text[x.End():y.Pos()]+c.of(x))
}

func (c *changer) statement(s *expr.Statement) {
	for i, t := range s.Targets {
		c.walk(t)
		if i > 0 {
			c.swap("arguments", s.Targets[i-1], t)
		}
	}
	c.walk(s.X)
	for _, b := range s.For {
		c.walk(b)
	}
	if n := len(s.For); n > 0 {
		c.replace("range", strings.LastIndex(c.text[:s.For[0].Pos()], "for"), s.For[n-1].End(), "")
	}
	if s.When != nil {
		c.walk(s.When)
		c.negate(s.When)
		c.replace("condition", strings.LastIndex(c.text[:s.When.Pos()], "when"), s.When.End(), "")
	}
}

func (c *changer) negate(n expr.Node) { c.replace("condition", n.Pos(), n.End(), "!("+c.of(n)+")") }

// instead lists for each operator what takes its place.
var instead = map[string][]string{
	"+": {"-", "*"}, "-": {"+"}, "*": {"/", "+"}, "/": {"*"}, "%": {"/"}, "^": {"*"},
	"&&": {"||"}, "||": {"&&"}, "==": {"!=", "<"}, "!=": {"=="},
	"<": {"<=", ">"}, "<=": {"<"}, ">": {">=", "<"}, ">=": {">"},
}

// alike lists functions and reductions one of which takes the place of another.
var alike = [][]string{
	{"exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "Phi", "erfc", "erfinv", "expm1", "log1p", "abs",
		"tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "softplus", "erf", "lgamma", "digamma", "sign"},
	{"ceil", "floor", "round"}, {"max", "min", "pow", "hypot", "atan2", "fmod"}, {"uniform", "normal"}, {"keep", "drop", "ones"}, {"prod", "sum", "len"}, {"quotient", "ceildiv"},
}

var reductions = [][]string{{"sum", "prod", "max", "min", "mean", "variance", "norm", "logsumexp"}, {"any", "all"}, {"argmax", "argmin"}, {"argsort", "rank"}}

// walk adds the changes of a node and of everything below it.
func (c *changer) walk(root expr.Node) {
	plain := map[expr.Node]bool{} // names that are no values of their own
	expr.Walk(root, func(n expr.Node) {
		if s, ok := n.(*expr.Select); ok {
			plain[s.X] = true
		}
	})
	expr.Walk(root, func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Lit:
			c.literal(n)
		case *expr.Ident:
			if !plain[n] {
				c.ident(n)
			}
		case *expr.Unary:
			at := n.Pos() + strings.Index(c.of(n), n.Op)
			c.replace("operator", at, at+1, "")
		case *expr.Binary:
			c.binary(n)
		case *expr.Cond:
			c.negate(n.If)
			c.swap("branch", n.Then, n.Else)
			c.become("branch", n, c.of(n.Then))
			c.become("branch", n, c.of(n.Else))
		case *expr.Call:
			c.call(n)
		case *expr.Read:
			c.read(n)
		case *expr.Number:
			c.list(n.Items)
		case *expr.Slice:
			for _, x := range []expr.Node{n.Lo, n.Hi} {
				if x != nil {
					c.shift("range", x)
					c.replace("range", x.Pos(), x.End(), "")
				}
			}
		case *expr.Reduce:
			c.reduce(n)
		case *expr.Binder:
			for _, x := range []expr.Node{n.Lo, n.Hi} {
				if x != nil {
					c.shift("range", x)
				}
			}
		}
	})
}

// shift adds the changes of an index or a bound by one.
func (c *changer) shift(kind string, n expr.Node) {
	text := c.of(n)
	if _, ok := n.(*expr.Cond); ok {
		text = "(" + text + ")"
	}
	c.replace(kind, n.Pos(), n.End(), text+" + 1")
	c.replace(kind, n.Pos(), n.End(), text+" - 1")
}

func (c *changer) literal(n *expr.Lit) {
	set := func(text string) { c.replace("constant", n.Pos(), n.End(), text) }
	switch v := n.Value.(type) {
	case int64:
		set(strconv.FormatInt(v+1, 10))
		if v > 0 {
			set(strconv.FormatInt(v-1, 10))
		}
	case float64:
		set(strconv.FormatFloat(v*1.5, 'f', -1, 64))
	case bool:
		set(strconv.FormatBool(!v))
	case string:
		for _, s := range c.strings {
			set(s)
		}
	}
}

func (c *changer) ident(n *expr.Ident) {
	for _, name := range c.idents {
		c.replace("name", n.Pos(), n.End(), name)
	}
	if lower := n.Name[0] >= 'a'; lower && strings.HasSuffix(n.Name, "'") {
		c.replace("prime", n.End()-1, n.End(), "")
	} else if lower {
		c.replace("prime", n.End(), n.End(), "'")
	}
}

func (c *changer) binary(n *expr.Binary) {
	at := n.X.End() + strings.Index(c.text[n.X.End():n.Y.Pos()], n.Op)
	for _, op := range instead[n.Op] {
		c.replace("operator", at, at+len(n.Op), op)
	}
	kind := "condition"
	switch n.Op {
	case "+", "-":
		kind = "term"
	case "*", "/", "%", "^":
		kind = "factor"
	case "==", "!=", "<", "<=", ">", ">=":
		c.swapUnlessEqual(n)
		return
	}
	if n.Op == "-" || n.Op == "/" || n.Op == "^" || n.Op == "%" {
		c.swap("arguments", n.X, n.Y)
	}
	c.become(kind, n, c.of(n.X))
	c.become(kind, n, c.of(n.Y))
}

// swapUnlessEqual swaps the sides of a comparison by order.
func (c *changer) swapUnlessEqual(n *expr.Binary) {
	if n.Op != "==" && n.Op != "!=" {
		c.swap("arguments", n.X, n.Y)
	}
}

func (c *changer) call(n *expr.Call) {
	if strings.HasPrefix(c.of(n), n.Func) {
		for _, group := range alike {
			for _, f := range others(group, n.Func) {
				c.replace("function", n.Pos(), n.Pos()+len(n.Func), f)
			}
		}
	}
	commutes := n.Func == "max" || n.Func == "min"
	for i, a := range n.Args {
		c.become("function", n, c.of(a))
		if i > 0 && !commutes {
			c.swap("arguments", n.Args[i-1], a)
		}
	}
}

// others lists the other names of a group that has a name, and nothing for another group.
func others(group []string, name string) []string {
	if !slices.Contains(group, name) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(group), func(s string) bool { return s == name })
}

func (c *changer) read(n *expr.Read) {
	for _, name := range c.tensors {
		c.replace("name", n.NameEnd-len(n.Name), n.NameEnd, name)
	}
	if n.Old {
		c.replace("name", n.Pos(), n.NameEnd, n.Name)
	} else {
		c.replace("name", n.NameEnd-len(n.Name), n.NameEnd-len(n.Name), "old.")
	}
	for _, g := range n.Groups {
		c.list(g)
	}
	if n.Else != nil {
		c.replace("branch", strings.LastIndex(c.text[:n.Else.Pos()], "else"), n.Else.End(), "")
	}
}

// list adds the changes of indices: each by one, two that are swapped, one that is left out.
func (c *changer) list(items []expr.Node) {
	for i, x := range items {
		if _, ok := x.(*expr.Slice); !ok {
			c.shift("index", x)
		}
		if i > 0 {
			c.swap("transpose", items[i-1], x)
			c.replace("index", items[i-1].End(), x.End(), "")
			c.replace("index", items[i-1].Pos(), x.Pos(), "")
		}
	}
}

func (c *changer) reduce(n *expr.Reduce) {
	kind := n.Kind.String()
	at := n.Pos() + strings.Index(c.of(n), kind)
	for _, group := range reductions {
		for _, k := range others(group, kind) {
			c.replace("reduction", at, at+len(kind), k)
		}
	}
	for i := 1; i < len(n.Binders); i++ {
		x, y := n.Binders[i-1], n.Binders[i]
		if n.Kind.Is(reduction.Argument) { // for other kinds the order matters for rounding only
			c.swap("transpose", x, y)
		}
		c.replace("range", x.Pos(), y.Pos(), "")
		c.replace("range", x.End(), y.End(), "")
	}
	if n.If != nil {
		c.negate(n.If)
		c.replace("condition", n.Binders[len(n.Binders)-1].End(), n.If.End(), "")
	}
	if n.X != nil {
		c.replace("reduction", n.Pos(), n.End(), "("+c.of(n.X)+")")
	}
	if n.Kind.Is(reduction.Order) {
		end := n.X.End() + strings.Index(c.text[n.X.End():], ")")
		word := " descending"
		if n.Descending {
			word = ""
		}
		c.replace("reduction", n.X.End(), end, word)
		c.list(n.At)
	}
}
