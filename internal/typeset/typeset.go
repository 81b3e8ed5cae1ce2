// Package typeset writes formulas as mathematics in the notation of LaTeX, as far as browsers render it:
// fractions, roots, sums over indices and cases. It takes what package expr parses, and shows it; it checks
// nothing.
package typeset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// Lines returns the lines of a formula, functions first, in an environment that aligns their equations. The
// statements of derived gradients, which may add with +=, are formulas, too. ok is false if a line does not
// parse.
func Lines(text string) (math string, ok bool) {
	adds := map[int]bool{} // by the place of the statement
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if left, rest, found := strings.Cut(strings.TrimSpace(line), " += "); found {
			adds[plain.Len()] = true
			line = left + " = " + asSum(rest) + "\n"
		}
		plain.WriteString(line)
	}
	f, errs := expr.ParseFormula(plain.String())
	if len(errs) > 0 {
		return "", false
	}
	var lines []string
	for _, fn := range f.Functions {
		params := make([]string, len(fn.Params))
		for i, p := range fn.Params {
			params[i] = name(p.Name)
		}
		left := name(fn.Name)
		if len(params) > 0 {
			left += `\!\left(` + strings.Join(params, ", ") + `\right)`
		}
		lines = append(lines, left+" &= "+node(fn.X, 0))
	}
	for _, s := range f.Statements {
		lines = append(lines, statement(s, adds[s.Pos]))
	}
	return "\\begin{aligned}\n" + strings.Join(lines, " \\\\\n") + "\n\\end{aligned}", true
}

// asSum writes what a statement adds as a sum over its ranges, which may then lack an end, as they do in
// derived gradients.
func asSum(text string) string {
	value, over, _ := strings.Cut(text, " for ")
	over, guard, guarded := strings.Cut(over, " when ")
	if guarded {
		over += " if " + guard
	}
	return "sum(" + over + ": " + value + ")"
}

// statement writes an equation with the ranges and the condition behind it. What is added is a sum over the
// ranges.
func statement(s *expr.Statement, adds bool) string {
	if r, ok := s.X.(*expr.Reduce); ok && adds {
		s = &expr.Statement{Targets: s.Targets, X: r.X, For: r.Binders, When: r.If}
	}
	left := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		left[i] = node(t, 0)
	}
	sign := " &= "
	if adds {
		sign = ` &\mathrel{+}= `
	}
	out := strings.Join(left, ", ") + sign + node(s.X, 0)
	if len(s.For) > 0 {
		out += ` \quad \text{for } ` + binders(s.For)
	}
	if s.When != nil {
		out += ` \quad \text{if } ` + node(s.When, 0)
	}
	if s.Surrogate {
		out += ` \quad \text{(a surrogate)}`
	}
	return out
}

// The levels of what binds more and more tightly.
const (
	choice = iota + 1
	or
	and
	comparison
	sum
	largeOperator
	product
	sign
	power
	closed
)

var operators = map[string]struct {
	level int
	text  string
}{
	"||": {or, ` \lor `}, "&&": {and, ` \land `}, "==": {comparison, " = "}, "!=": {comparison, ` \ne `}, "<": {comparison, " < "}, "<=": {comparison, ` \le `},
	">": {comparison, " > "}, ">=": {comparison, ` \ge `}, "+": {sum, " + "}, "-": {sum, " - "}, "*": {product, ` \cdot `}, "%": {product, ` \bmod `},
}

// node writes an expression, in parentheses if it binds less tightly than level.
func node(n expr.Node, level int) string {
	text, own := plain(n)
	if own < level {
		return `\left(` + text + `\right)`
	}
	return text
}

func plain(n expr.Node) (text string, level int) {
	switch n := n.(type) {
	case *expr.Lit:
		return literal(n.Value), closed
	case *expr.Ident:
		return name(n.Name), closed
	case *expr.Select:
		return node(n.X, closed) + `.` + name(n.Field), closed
	case *expr.Unary:
		if n.Op == "!" {
			return `\lnot ` + node(n.X, sign), sign
		}
		return "-" + node(n.X, largeOperator), sum
	case *expr.Binary:
		return binary(n)
	case *expr.Cond:
		return `\begin{cases} ` + cases(n) + ` \end{cases}`, closed
	case *expr.In:
		if n.Word != "" {
			return node(n.X, sum) + ` \in ` + name(n.Word), comparison
		}
		return node(n.X, sum) + ` \in \{` + list(n.List) + `\}`, comparison
	case *expr.List:
		return "[" + list(n.Elems) + "]", closed
	case *expr.Call:
		return call(n)
	case *expr.Named:
		return name(n.Name) + " = " + node(n.X, 0), 0
	case *expr.Inline:
		text, _ := call(n.Call)
		if n.Output != "" {
			text += "." + name(n.Output)
		}
		return below(text, list(n.At)), closed
	case *expr.Index:
		return below(node(n.X, closed), node(n.I, 0)), closed
	case *expr.Slice:
		bounds := part(n.Lo) + ":" + part(n.Hi)
		if n.X == nil {
			return bounds, closed
		}
		return below(node(n.X, closed), bounds), closed
	case *expr.Read:
		return read(n)
	case *expr.Number:
		if len(n.Items) == 1 {
			return `\#` + node(n.Items[0], closed), closed
		}
		return `\#(` + list(n.Items) + ")", closed
	case *expr.Reduce:
		return reduce(n)
	case *expr.Binder:
		return binder(n), comparison
	}
	return `\text{?}`, closed
}

func binary(n *expr.Binary) (text string, level int) {
	switch n.Op {
	case "/":
		switch sign, ok := infinite(n); {
		case ok && sign != "":
			return sign + `\infty`, sum
		case ok:
			return `\infty`, closed
		}
		return `\frac{` + node(n.X, 0) + `}{` + node(n.Y, 0) + `}`, closed
	case "^":
		return "{" + node(n.X, closed) + `}^{` + node(n.Y, 0) + `}`, power
	}
	o, ok := operators[n.Op]
	if !ok {
		return node(n.X, closed) + ` \mathbin{` + escape(n.Op) + `} ` + node(n.Y, closed), product
	}
	return node(n.X, o.level) + o.text + node(n.Y, o.level+1), o.level
}

// infinite reports whether a quotient is how formulas write infinity, and returns its sign.
func infinite(n *expr.Binary) (sign string, ok bool) {
	x := n.X
	if u, negative := x.(*expr.Unary); negative && u.Op == "-" {
		x, sign = u.X, "-"
	}
	return sign, isNumber(x, "1") && isNumber(n.Y, "0")
}

// isNumber reports whether n is a number that is written with these digits.
func isNumber(n expr.Node, digits string) bool {
	l, ok := n.(*expr.Lit)
	return ok && fmt.Sprint(l.Value) == digits
}

// cases writes the rows of a choice, and those of the choice that is made otherwise.
func cases(n *expr.Cond) string {
	row := node(n.Then, 0) + ` & \text{if } ` + node(n.If, 0) + ` \\ `
	if rest, ok := n.Else.(*expr.Cond); ok {
		return row + cases(rest)
	}
	return row + node(n.Else, 0) + ` & \text{otherwise}`
}

// functions that have a sign or a name of their own in mathematics; # stands for the argument.
var functions = map[string]string{"sqrt": `\sqrt{#}`, "rsqrt": `\frac{1}{\sqrt{#}}`, "abs": `\left|#\right|`, "floor": `\left\lfloor #\right\rfloor`,
	"ceil": `\left\lceil #\right\rceil`}

// standard are functions whose names LaTeX sets itself.
var standard = map[string]bool{"exp": true, "log": true, "sin": true, "cos": true, "tan": true, "tanh": true, "sinh": true, "cosh": true, "max": true, "min": true}

func call(n *expr.Call) (text string, level int) {
	if form, ok := functions[n.Func]; ok && len(n.Args) == 1 {
		return strings.ReplaceAll(form, "#", node(n.Args[0], 0)), closed
	}
	args := list(n.Args)
	for i, a := range n.Named {
		if i > 0 || args != "" {
			args += ", "
		}
		args += node(a, 0)
	}
	head := name(n.Func)
	if standard[n.Func] {
		head = `\` + n.Func
	}
	return head + `\!\left(` + args + `\right)`, closed
}

// read writes an element: grad.x as a gradient, old.x with a mark, and the number of a variadic slot's tensor
// above.
func read(n *expr.Read) (text string, level int) {
	plain, grad := strings.CutPrefix(n.Name, "grad.")
	text = name(plain)
	if grad {
		text = `\nabla ` + text
	}
	above := ""
	if n.Old {
		above = `\text{old}`
	}
	last := n.Groups[len(n.Groups)-1]
	if len(n.Groups) > 1 {
		above += "(" + list(n.Groups[0]) + ")"
	}
	index := list(last)
	if n.Else != nil {
		index += `\text{ else }` + node(n.Else, 0)
	}
	if above != "" {
		text += "^{" + above + "}"
	}
	return below(text, index), closed
}

// signs of reductions that have a sign of their own.
var signs = map[reduction.Kind]string{reduction.Sum: `\sum`, reduction.Prod: `\prod`, reduction.Max: `\max`, reduction.Min: `\min`, reduction.Any: `\bigvee`,
	reduction.All: `\bigwedge`}

func reduce(n *expr.Reduce) (text string, level int) {
	head, ok := signs[n.Kind]
	if !ok {
		head = `\mathop{` + name(n.Kind.String()) + `}`
	}
	over := binders(n.Binders)
	if n.If != nil {
		over = `\substack{` + over + ` \\ ` + node(n.If, 0) + `}`
	}
	text = below(head, over)
	if n.X != nil {
		text += `\, ` + node(n.X, largeOperator)
	}
	if n.Descending {
		text += ` \text{ descending}`
	}
	if len(n.At) > 0 {
		return below(`\left(`+text+`\right)`, list(n.At)), closed
	}
	return text, largeOperator
}

func binders(all []*expr.Binder) string {
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = binder(b)
	}
	return strings.Join(out, `,\, `)
}

func binder(b *expr.Binder) string {
	switch x := node(b.X, 0); {
	case b.Hi == nil:
		return x
	case b.Lo == nil:
		return x + " < " + node(b.Hi, sum)
	default:
		return node(b.Lo, sum) + ` \le ` + x + " < " + node(b.Hi, sum)
	}
}

// below writes an index below a text, which may have one already.
func below(text, index string) string {
	if index == "" {
		return text
	}
	if strings.Contains(text, "_{") {
		text = "{" + text + "}"
	}
	return text + "_{" + index + "}"
}

func list(nodes []expr.Node) string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = node(n, 0)
	}
	return strings.Join(out, ", ")
}

func part(n expr.Node) string {
	if n == nil {
		return ""
	}
	return node(n, 0)
}

// name writes a name: a letter with its number and its marks as a variable, others as words.
func name(s string) string {
	bare := strings.TrimRight(s, "'")
	marks := s[len(bare):]
	letter := strings.TrimRight(bare, "0123456789")
	switch number := bare[len(letter):]; {
	case s == "inf":
		return `\infty`
	case len(letter) != 1:
		return `\mathrm{` + escape(bare) + `}` + marks
	case number != "":
		return letter + "_{" + number + "}" + marks
	}
	return bare + marks
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return `\text{` + escape(v) + `}`
	case bool:
		if v {
			return `\text{true}`
		}
		return `\text{false}`
	case float64:
		digits, exponent, large := strings.Cut(strconv.FormatFloat(v, 'g', -1, 64), "e")
		if !large {
			return digits
		}
		n, _ := strconv.Atoi(exponent)
		if digits == "1" {
			return fmt.Sprintf("10^{%d}", n)
		}
		return fmt.Sprintf(`%s \cdot 10^{%d}`, digits, n)
	}
	return fmt.Sprint(v)
}

// escape writes what has a meaning in LaTeX as itself.
func escape(s string) string { return escapes.Replace(s) }

var escapes = strings.NewReplacer("_", `\_`, "#", `\#`, "%", `\%`, "&", `\&`, "$", `\$`, "{", `\{`, "}", `\}`, "^", `\^{}`, "~", `\~{}`, `\`, `\backslash `)
