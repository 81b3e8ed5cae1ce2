package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestParseFormula compares the printed syntax trees of formulas with expected ones.
func TestParseFormula(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"output[n] = input[n]", "output[n] = input[n]"},
		{"y = -x^2 * 3", "y = ((- (x ^ 2)) * 3)"},
		{"y = 2^-x^2", "y = (2 ^ (- (x ^ 2)))"},
		{"out[a, r, b] = exp(z[a, r, b] - logsumexp(r': z[a, r', b]))", "out[a, r, b] = exp((z[a, r, b] - logsumexp(r' : z[a, r', b])))"},
		{"y[n], x[n] = argmax(h in top(p) .. top(p) + k, w < 3: z[h, w])", "y[n], x[n] = argmax(h in top(p) .. (top(p) + k), w < 3 : z[h, w])"},
		{"output[#drop(x, axes)] = sum(keep(x, axes): input[x]) when op == 'SUM'", "output[#(drop(x, axes))] = sum(keep(x, axes) : input[x]) when (op == 'SUM')"},
		{"e[i][p, d] = sum(b, k if assign[b, k] == i: x[b, d]) for i < n", "e[i][p, d] = sum(b, k if (assign[b, k] == i) : x[b, d]) for i < n"},
		{"g[n] = max(old.w[n], 0) + sum(C[:i]) + has(a) ? b : c", "g[n] = (((max(old.w[n], 0) + sum(C[:i])) + has(a)) ? b : c)"},
		{"op.ADD(x, y) = x + y // a comment\n\n// another\npi2 = r.lambda * r.type(w[n])\n   + count(shard)", "op.ADD(x, y) = (x + y)\npi2 = ((r.lambda * r.type(w[n])) + count(shard))"},
		{"r.type.L2(x) = x^2 / 2", "r.type.L2(x) = ((x ^ 2) / 2)"},
		{"t[b] = count(b' if #(b') < #b)", "t[b] = count(b' if (#(b') < #(b)))"},
		{"o[k] = e[g[k]][p[k], d] else 0 * 2", "o[k] = (e[g[k]][p[k], d] else 0 * 2)"},
		{"i[a, j] = argsort(r: x[a, r] descending)[j]", "i[a, j] = argsort(r : x[a, r] descending)[j]"},
		{"t[b, k] = rank(b', k' < 3: x[b', k'])[b, k + 1] - 1", "t[b, k] = (rank(b', k' < 3 : x[b', k'])[b, (k + 1)] - 1)"},
		{"grad.x[n] = grad.y[n] when relu as surrogate", "grad.x[n] = grad.y[n] when relu as surrogate"},
		{"y[n] = op(f(z, k = 1), x, dim = -1, mode = 'A').out[n, 0] + op(x)[n]", "y[n] = (op(f(z, k = 1), x, dim = (- 1), mode = 'A').out[n, 0] + op(x)[n])"},
		{"o[n] = max(a ? b : c, 0)", "o[n] = max((a ? b : c), 0)"},
	} {
		f, errs := ParseFormula(c.text)
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.text, errs[0])
		} else if got := printFormula(f); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestParseFormulaErrors checks the messages and the positions of syntax errors: at most one error for each
// line.
func TestParseFormulaErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "0-0 want a formula, got nothing"},
		{"// nothing", "0-10 want a formula, got nothing"},
		{"output[n]", `9-9 want "=", got the end`},
		{"output[n = 1\ny = = 2\nz = 3", `9-10 want "," or "]", got "="; 17-18 want a value, got "="`},
		{"y = sum(k: )", `11-12 want a value, got ")"`},
		{"y = sum(k if k < 3)", "4-19 want a colon and what sum goes over"},
		{"y = count(k: 1)", "13-14 count has no value: write the condition behind if"},
		{"y = sum(f(k) < 3: k)", "8-12 want the name of an index"},
		{"y = x[1][2][3]", "4-14 want one index, or two where the first is the number of a tensor, got 3"},
		{"y = argsort(k: x[k]) + 1", `21-22 want the place in the order, such as [i], got "+"`},
		{"y = rank(k: x[k])", "17-17 want the index whose place in the order is meant, such as [k], got the end"},
		{"y = rank(k if k > 1: x[k])[0]", "14-19 rank orders all elements, so it has no condition"},
		{"y = sum(k: x[k] descending)", `16-26 want ")", got descending`},
		{"y[n] = f(a = 1, b)[n]", "16-17 want a name for this argument, since those before it have one"},
		{"y[n] = f(a).b + 1", `14-15 want the index of an element of b, got "+"`},
		{"y[n] = x[n] as surrogate", "15-24 want the end of the line, or as surrogate behind a gradient, got surrogate"},
		{"y, x = max(h: a[h])", "7-19 want argmax or argmin over 2 indices, one for each target"},
		{"y[n] else 0 = 1", "10-11 what is given has no else"},
		{"old.w[n] = 1", "0-8 old.w cannot be given: it is what w was before"},
		{"f(1) = 1", "2-3 want the name of a parameter"},
		{"f(a, a) = 1", "5-6 two parameters are called a"},
		{"y = 1 for k", "10-11 want a range, such as i < n"},
		{"y = for", "4-7 want a value, got for"},
		{"y = #3", "5-6 want an index or a list of indices in parentheses, got 3"},
		{"y = " + strings.Repeat("x^", 200) + "x", "204-205 the expression is nested too deeply"},
		{"y = " + strings.Repeat("sum(k: ", 200), "354-357 the expression is nested too deeply"},
		{"y = " + strings.Repeat("x[i] else ", 200) + "1", "996-997 the expression is nested too deeply"},
	} {
		_, errs := ParseFormula(c.text)
		var got []string
		for _, e := range errs {
			got = append(got, fmt.Sprintf("%d-%d %s", e.Pos, e.End, e.Message))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%.40s\ngot  %s\nwant %s", c.text, s, c.want)
		}
	}
}

// FuzzParseFormula checks that no text makes the parser panic, and that positions lie in the text.
func FuzzParseFormula(f *testing.F) {
	for _, s := range []string{"output[n, o] = sum(k: a[n, k] * b[o, k]) when x\n", "f(x) = x^2\n// c\n y", "a, b = argmax(h in 0 .. k, w: x[h, w]) for i < 3", "y = rank(k: x[k] descending)[2] * argsort(k: x[k])[i]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, errs := ParseFormula(text)
		for _, e := range errs {
			if e.Pos < 0 || e.End < e.Pos || e.End > len(text) {
				t.Fatalf("%q: error at %d to %d", text, e.Pos, e.End)
			}
		}
	})
}

func printFormula(f *Formula) string {
	var lines []string
	for _, fn := range f.Functions {
		var params []Node
		for _, p := range fn.Params {
			params = append(params, p)
		}
		lines = append(lines, fn.Name+"("+printNodes(params)+") = "+printNode(fn.X))
	}
	for _, s := range f.Statements {
		line := printNodes(s.Targets) + " = " + printNode(s.X)
		if len(s.For) > 0 {
			line += " for " + printBinders(s.For)
		}
		if s.When != nil {
			line += " when " + printNode(s.When)
		}
		if s.Surrogate {
			line += " as surrogate"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func printNodes(nodes []Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, printNode(n))
	}
	return strings.Join(out, ", ")
}

func printBinders(binders []*Binder) string {
	var out []string
	for _, b := range binders {
		s := printNode(b.X)
		switch {
		case b.Lo != nil:
			s += " in " + printNode(b.Lo) + " .. " + printNode(b.Hi)
		case b.Hi != nil:
			s += " < " + printNode(b.Hi)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func printNode(n Node) string {
	switch n := n.(type) {
	case nil:
		return ""
	case *Lit:
		if s, ok := n.Value.(string); ok {
			return "'" + s + "'"
		}
		return fmt.Sprint(n.Value)
	case *Ident:
		return n.Name
	case *Named:
		return n.Name + " = " + printNode(n.X)
	case *Inline:
		s := printNode(n.Call)
		if n.Output != "" {
			s += "." + n.Output
		}
		return s + "[" + printNodes(n.At) + "]"
	case *Unary:
		return "(" + n.Op + " " + printNode(n.X) + ")"
	case *Binary:
		return "(" + printNode(n.X) + " " + n.Op + " " + printNode(n.Y) + ")"
	case *Cond:
		return "(" + printNode(n.If) + " ? " + printNode(n.Then) + " : " + printNode(n.Else) + ")"
	case *Call:
		args := slices.Clone(n.Args)
		for _, a := range n.Named {
			args = append(args, a)
		}
		return n.Func + "(" + printNodes(args) + ")"
	case *Select:
		return printNode(n.X) + "." + n.Field
	case *Slice:
		return printNode(n.X) + printNode(n.Lo) + ":" + printNode(n.Hi)
	case *Number:
		return "#(" + printNodes(n.Items) + ")"
	case *Read:
		s := n.Name
		if n.Old {
			s = "old." + s
		}
		for _, g := range n.Groups {
			s += "[" + printNodes(g) + "]"
		}
		if n.Else != nil {
			s += " else " + printNode(n.Else)
		}
		return s
	case *Reduce:
		s := n.Kind.String() + "(" + printBinders(n.Binders)
		if n.If != nil {
			s += " if " + printNode(n.If)
		}
		if n.X != nil {
			s += " : " + printNode(n.X)
		}
		if n.Descending {
			s += " descending"
		}
		if n.At != nil {
			return s + ")[" + printNodes(n.At) + "]"
		}
		return s + ")"
	}
	return fmt.Sprintf("%T", n)
}
