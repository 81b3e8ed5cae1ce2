package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/expr"
)

// tree prints an expression with parentheses around every operation.
func tree(n expr.Node) string {
	list := func(nodes []expr.Node) string {
		var parts []string
		for _, n := range nodes {
			parts = append(parts, tree(n))
		}
		return strings.Join(parts, ", ")
	}
	switch n := n.(type) {
	case nil:
		return ""
	case *expr.Lit:
		if s, ok := n.Value.(string); ok {
			return "'" + s + "'"
		}
		return fmt.Sprint(n.Value)
	case *expr.Ident:
		return n.Name
	case *expr.Unary:
		return "(" + n.Op + tree(n.X) + ")"
	case *expr.Binary:
		return "(" + tree(n.X) + " " + n.Op + " " + tree(n.Y) + ")"
	case *expr.Cond:
		return "(" + tree(n.If) + " ? " + tree(n.Then) + " : " + tree(n.Else) + ")"
	case *expr.Call:
		return n.Func + "(" + list(n.Args) + ")"
	case *expr.Index:
		return tree(n.X) + "[" + tree(n.I) + "]"
	case *expr.Slice:
		return tree(n.X) + "[" + tree(n.Lo) + ":" + tree(n.Hi) + "]"
	case *expr.Select:
		return tree(n.X) + "." + n.Field
	case *expr.In:
		if n.Word != "" {
			return "(" + tree(n.X) + " in " + n.Word + " = [" + list(n.List) + "])"
		}
		return "(" + tree(n.X) + " in [" + list(n.List) + "])"
	case *expr.List:
		return "[" + list(n.Elems) + "]"
	}
	return fmt.Sprintf("%T?", n)
}

func TestParse(t *testing.T) {
	tests := []struct{ text, want string }{
		{"1", "1"},
		{"007", "7"},
		{"T in floating", "(T in floating = ['f16', 'bf16', 'f32', 'f64'])"},
		{"T not in signed", "(!(T in signed = ['i8', 'i16', 'i32', 'i64']))"},
		{"2147483647", "2147483647"},
		{"1.5", "1.5"},
		{"1e3", "1000"},
		{"2.5e-1", "0.25"},
		{"1E+2", "100"},
		{"'RELU'", "'RELU'"},
		{"''", "''"},
		{"true", "true"},
		{"_x1", "_x1"},
		{" K\t\n", "K"},
		{"(((K)))", "K"},

		// Precedence and associativity.
		{"a + b * c", "(a + (b * c))"},
		{"(a + b) * c", "((a + b) * c)"},
		{"a - b - c", "((a - b) - c)"},
		{"a / b * c % d", "(((a / b) * c) % d)"},
		{"a - -b", "(a - (-b))"},
		{"--a", "(-(-a))"},
		{"!a && b || c && !d", "(((!a) && b) || (c && (!d)))"},
		{"a || b || c", "((a || b) || c)"},
		{"a + 1 < b * 2 && c", "(((a + 1) < (b * 2)) && c)"},
		{"a == b || a != c", "((a == b) || (a != c))"},
		{"a <= b", "(a <= b)"},
		{"a >= b", "(a >= b)"},
		{"!a == b", "((!a) == b)"},
		{"-a[0]", "(-a[0])"},
		{"a ? b : c", "(a ? b : c)"},
		{"a ? b : c ? d : e", "(a ? b : (c ? d : e))"},
		{"a ? b ? c : d : e", "(a ? (b ? c : d) : e)"},
		{"a || b ? c + 1 : d", "((a || b) ? (c + 1) : d)"},

		// Lists and what follows a value.
		{"a in [1, 2]", "(a in [1, 2])"},
		{"a in []", "(a in [])"},
		{"a not in ['X']", "(!(a in ['X']))"},
		{"a + 1 in [b]", "((a + 1) in [b])"},
		{"a in [1] && b", "((a in [1]) && b)"},
		{"[1, K,]", "[1, K]"},
		{"X[i + 1]", "X[(i + 1)]"},
		{"X[:]", "X[:]"},
		{"X[1:]", "X[1:]"},
		{"X[:n]", "X[:n]"},
		{"X[1:n][0]", "X[1:n][0]"},
		{"X[a ? b : c]", "X[(a ? b : c)]"},
		{"r.f.g[0]", "r.f.g[0]"},
		{"f()", "f()"},
		{"f(a, -1, g(b),)", "f(a, (-1), g(b))"},
		{"f (a)", "f(a)"},
		{"prod(X[:2])", "prod(X[:2])"},
		{"inner", "inner"},
		{"notin", "notin"},
	}
	for _, tt := range tests {
		n, err := expr.Parse(tt.text)
		if err != nil {
			t.Errorf("Parse(%q): %s", tt.text, err.Message)
			continue
		}
		if got := tree(n); got != tt.want {
			t.Errorf("Parse(%q) = %s, want %s", tt.text, got, tt.want)
		}
		if text := strings.TrimSpace(tt.text); tt.text[n.Pos():n.End()] != text {
			t.Errorf("Parse(%q) stands at %q", tt.text, tt.text[n.Pos():n.End()])
		}
	}
}

// at returns a text without the marks » and « around the place of an error, and the place as byte offsets.
func at(t *testing.T, marked string) (text string, pos, end int) {
	t.Helper()
	pos = strings.Index(marked, "»")
	text = strings.Replace(marked, "»", "", 1)
	end = strings.Index(text, "«")
	if pos < 0 || end < 0 {
		t.Fatalf("no place in %q", marked)
	}
	return strings.Replace(text, "«", "", 1), pos, end
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, message string }{
		{"»«", "want an expression, got nothing"},
		{"»  «", "want an expression, got nothing"},
		{"1 +»«", "want a value, got the end"},
		{"1 »2«", "want the end of the expression, got 2"},
		{"»*« 2", `want a value, got "*"`},
		{"(1 + 2»«", `want ")", got the end`},
		{"(1 »,« 2)", `want ")", got ","`},
		{"f(1 »2«)", `want "," or ")", got 2`},
		{"f(»,«)", `want a value, got ","`},
		{"[1 »2«]", `want "," or "]", got 2`},
		{"X[»]«", `want a value, got "]"`},
		{"X[1 »2«]", `want "]", got 2`},
		{"X[1:2»«", `want "]", got the end`},
		{"a ? b»«", `want ":", got the end`},
		{"a ? »:« b", `want a value, got ":"`},
		{"a.»1«", "want the name of a field, got 1"},
		{"a < b »<« c", "comparisons cannot be chained"},
		{"a == b »in« [c]", "comparisons cannot be chained"},
		{"a in »b«", "want a list, or a word for element types such as floating, got b"},
		{"a not »b«", `want "in", got b`},
		{"»not« a", "want a value, got not"},
		{"a && »in«", "want a value, got in"},
		{"a == »'RELU«", "want a value, got a string without an end"},
		{"a »&« b", `want the end of the expression, got "&"`},
		{"a »é«", `want the end of the expression, got "é"`},
		{"a + »\xff«", `want a value, got "\xff"`},
		{"»2147483648«", "want an integer below 2147483648, got 2147483648"},
		{"»99999999999999999999«", "want an integer below 2147483648, got 99999999999999999999"},
		{"»1e999«", "1e999 is too large"},
		{"1»e« + 2", "want the end of the expression, got e"},
	}
	for _, tt := range tests {
		text, pos, end := at(t, tt.text)
		n, err := expr.Parse(text)
		switch {
		case err == nil:
			t.Errorf("Parse(%q) = %s, want the error %q", text, tree(n), tt.message)
		case err.Message != tt.message || err.Pos != pos || err.End != end || err.Code != expr.BadSyntax:
			t.Errorf("Parse(%q): %q at %d to %d, code %d; want %q at %d to %d", text, err.Message, err.Pos, err.End, err.Code, tt.message, pos, end)
		}
	}
}

// TestParseLimits checks that neither nesting nor length can exhaust the stack.
func TestParseLimits(t *testing.T) {
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, tt := range []struct{ open, inner, end string }{{"(", "1", ")"}, {"[", "1", "]"}, {"f(", "1", ")"}, {"-", "1", ""}, {"!", "a", ""}, {"a ? b : ", "1", ""}, {"X[", "1", "]"}} {
		for n, deep := range map[int]bool{40: false, 200: true} {
			_, err := expr.Parse(nested(tt.open, tt.inner, tt.end, n))
			if got := err != nil && err.Message == "the expression is nested too deeply"; got != deep {
				t.Errorf("%d times %q: %v, want too deep: %v", n, tt.open, err, deep)
			}
		}
	}
	long := "1" + strings.Repeat("+1", 8000)
	if n, err := expr.Parse(long); err != nil || len(expr.Names(n)) != 0 {
		t.Errorf("a sum of 8001 numbers: %v", err)
	}
	if _, err := expr.Parse(long + strings.Repeat("+1", 400)); err == nil || err.Message != "the expression is longer than 16384 bytes" {
		t.Errorf("an expression of %d bytes: %v", len(long)+800, err)
	}
}

func TestNames(t *testing.T) {
	n, err := expr.Parse("a + X[b:c][d] > 0 ? f(e) : has(r.g) || [h, 1] == k || !l in [m, a]")
	if err != nil {
		t.Fatal(err.Message)
	}
	if got, want := strings.Join(expr.Names(n), " "), "a X b c d e r h k l m a"; got != want {
		t.Errorf("names are %s, want %s", got, want)
	}
}
