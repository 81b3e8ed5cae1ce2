package check_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// provedSpec has dimensions and attributes with all bounds that proofs use.
const provedSpec = `edition = 1
name = "proved"
doc  = "x"
[dtypes]
T = ["f32", "f64"]
[attrs]
n      = { type = "int", min = 1 }
pad    = { type = "int", min = 0 }
free   = { type = "int" }
tail   = { type = "int", min = 0 }
maybe  = { type = "int", optional = true }
splits = { type = "dims" }
axes   = { type = "axes" }
flag   = { type = "bool" }
[dims]
H = "C / n"
W = "A + 2 * pad"
[slots.input]
role  = "input"
type  = "T"
shape = ["A", "B"]
[slots.channels]
role  = "input"
type  = "T"
shape = ["C"]
[slots.list]
role  = "input"
type  = "T"
shape = ["X..."]
[slots.padded]
role  = "weight"
type  = "T"
shape = ["W"]
[slots.places]
role  = "input"
type  = "i64"
shape = ["A"]
below = "B"
[slots.marked]
role   = "input"
type   = "i64"
shape  = ["A"]
below  = "B"
except = "free"
[slots.masked]
role   = "input"
type   = "i64"
shape  = ["A"]
below  = "B"
except = "-1"
[slots.loose]
role   = "input"
type   = "i64"
shape  = ["A"]
[slots.pieces]
role  = "input"
type  = "T"
shape = ["P[i]"]
variadic = { min = 1 }
[slots.row]
role  = "input"
type  = "T"
shape = ["B"]
[slots.output]
role  = "output"
type  = "T"
shape = ["A"]
[require.divides]
that    = "C % n == 0 && sum(splits) == B && tail + 1 < B"
message = "no"
[tasks.forward]
over = 1
`

// TestProofs checks what is proved of reads: ok says that it lies inside.
func TestProofs(t *testing.T) {
	tests := []struct {
		read string // a term of a sum over b, for each a
		ok   bool
	}{
		{"input[a, b]", true},
		{"input[b, a]", false},
		{"input[a, b + 1]", false},
		{"input[a, b - 1]", false},
		{"input[A - 1 - a, B - 1 - b]", true},
		{"input[A - a, b]", false},
		{"input[a, b - 1] else 0", true},
		{"(b > 0 ? input[a, b - 1] : 0)", true},
		{"(b >= 0 ? input[a, b - 1] : 0)", false},
		{"(b < B - 1 ? input[a, b + 1] : 0)", true},
		{"(b <= B - 1 ? input[a, b + 1] : 0)", false},
		{"(b == B - 1 ? 0 : input[a, b + 1])", true},
		{"(b == B - 2 ? 0 : input[a, b + 1])", false},
		{"(b == 0 ? 0 : input[a, b - 1])", true},
		{"(b != 0 ? input[a, b - 1] : 0)", true},
		{"(b == 0 || flag ? 0 : input[a, b - 1])", true},
		{"(b == 0 && flag ? 0 : input[a, b - 1])", false},
		{"(!(b == 0) && flag ? input[a, b - 1] : 0)", true},
		{"input[a, places[a]]", true},
		{"input[places[a], b]", false},
		{"input[a, places[a] + 1]", false},
		{"input[a, marked[a]]", false},
		{"(marked[a] != free ? input[a, marked[a]] : 0)", true},
		{"(free != marked[a] && flag ? input[a, marked[a]] : 0)", true},
		{"(marked[a] == free || flag ? 0 : input[a, marked[a]])", true},
		{"(!(marked[a] == free) ? input[a, marked[a]] : 0)", true},
		{"(marked[a] == free ? input[a, marked[a]] : 0)", false},
		{"(marked[a] != free || flag ? input[a, marked[a]] : 0)", false},
		{"(marked[a] != free + 1 ? input[a, marked[a]] : 0)", false},
		{"(marked[a] != pad ? input[a, marked[a]] : 0)", false},
		{"(places[a] != free ? input[a, marked[a]] : 0)", false},
		{"(marked[a] != free ? input[a, marked[a]] : input[a, marked[a]])", false},
		{"(marked[a] >= 0 ? input[a, marked[a]] : 0)", false}, // free may be above B
		{"(marked[a] != free ? input[a, marked[a]] : 0) + input[a, marked[a]]", false},
		{"sum(j < A if marked[j] != free: input[a, marked[j]])", true},
		{"sum(j < A if marked[a] != free: input[a, marked[j]])", false},
		{"input[a, masked[a]]", false},
		{"(masked[a] >= 0 ? input[a, masked[a]] : 0)", true},
		{"(masked[a] > -2 ? input[a, masked[a]] : 0)", false},
		{"(masked[a] != -1 ? input[a, masked[a]] : 0)", true},
		{"input[a, masked[a] + 1]", false},
		{"input[a, b / n]", true},
		{"input[a, b / 2 * 2]", true},
		{"input[a, b / 2 * 2 + 1]", false},
		{"input[a, b / n * n]", true},
		{"input[a, 2 * (b / n) * n]", false},
		{"input[a, (b + n - 1) / n * n - b]", false}, // less than n
		{"sum(j < ceildiv(B, n): (j * n + n <= B ? input[a, j * n + n - 1] : 0))", true},
		{"sum(j < (B - tail) / n, i2 < n: input[a, j * n + i2 + tail])", true},
		{"sum(j < (B - tail) / n, i2 < n: input[a, j * n + i2 + tail + 1])", false},
		{"sum(j < (B - tail) / n + 1, i2 < tail: input[a, j * n + i2])", true},
		{"sum(j < (B - tail) / n + 1, i2 <= tail: input[a, j * n + i2])", false},
		{"sum(j < (B - tail) / n + 1, i2 < tail + 1: input[a, j * n + i2])", false},
		{"(b - a >= 0 && b - a < B ? input[a, b - a] : 0)", true},
		{"(a - b >= 0 && a - b < B ? input[a, b - a] : 0)", false},
		{"(b - a < 0 || b - a >= B ? 0 : input[a, b - a])", true},
		{"(b - a < 0 && b - a >= B ? 0 : input[a, b - a])", false},
		{"(b - a > 0 ? input[a, b - 1] : 0)", true},
		{"(b - a >= 0 ? input[a, b - 1] : 0)", false},
		{"(b + a < B ? input[a, b + a] : 0)", true},
		{"(b + a <= B ? input[a, b + a] : 0)", false},
		{"(b + 2 * a < B ? input[a, b + a] : 0)", true},
		{"(2 * b + a < B ? input[a, b + 2 * a] : 0)", false},
		{"(places[a] + b < B ? input[a, places[a] + b] : 0)", true},
		{"(masked[a] >= 0 && masked[a] + b < B ? input[a, masked[a] + b] : 0)", false}, // the sum may wrap around
		{"(loose[a] >= 0 && loose[a] + b < B ? input[a, loose[a] + b] : 0)", false},
		{"(loose[a] >= 0 && loose[a] / 2 + b < B ? input[a, loose[a] / 2 + b] : 0)", false},
		{"(loose[a] >= 0 && max(loose[a], b) + b < B ? input[a, max(loose[a], b) + b] : 0)", false},
		{"(loose[a] >= 0 && loose[a] < B ? input[a, loose[a]] : 0)", true},
		{"input[a, b % B]", true},
		{"input[a, (b + 7) % B]", true},
		{"input[a, (b - 7) % B]", true},
		{"input[a, loose[a] % B]", true},
		{"input[a, loose[a] % B + 1]", false},
		{"(loose[a] + 1 >= 0 && loose[a] + 1 < B ? input[a, loose[a] + 1] : 0)", true}, // it is what is compared, wrapped or not
		{"(loose[a] >= -1 && loose[a] + 1 < B ? input[a, loose[a] + 1] : 0)", false},
		{"(min(loose[a], b) >= 0 && min(loose[a], b) < B ? input[a, min(loose[a], b)] : 0)", true},
		{"(loose[a] + 1 >= 0 && loose[a] + 1 <= B ? input[a, loose[a] + 1] : 0)", false},
		{"(((a / 2 <= 2 ? n : 0) < B) ? input[a, (a / 2 <= 2 ? n : 0)] : 0)", false}, // 5 / 2 is more than 2, but not in a subscript
		{"input[a, min(b + 5, B - 1)]", true},
		{"input[a, max(b - 5, 0)]", true},
		{"input[a, max(b - 5, 2)]", false},
		{"input[0, b]", true},
		{"input[a, tail]", true},
		{"input[a, tail + 1]", true},
		{"input[a, tail + 2]", false},
		{"sum(j in b - 9 .. pad: padded[j])", false},
		{"sum(j < n: input[a, j]) * (n <= B ? 1 : 0)", false},
		{"(n <= B ? sum(j < n: input[a, j]) : 0)", true},
		{"sum(j < n if j < B: input[a, j])", true},
		{"sum(j < n if j <= B: input[a, j])", false},
		{"channels[0]", false},
		{"padded[a]", true},
		{"padded[a + pad]", true},
		{"padded[a + 2 * pad]", true},
		{"padded[a + 3 * pad]", false},
		{"padded[a + free]", false},
		{"sum(h: channels[h * n])", true},
		{"sum(h: channels[h * n + n - 1])", true},
		{"sum(h: channels[h * n + n])", false},
		{"sum(h, j < n: channels[h * n + j])", true},
		{"sum(h, j < n: channels[j * H + h])", true},
		{"sum(h, j < n: channels[j * n + h])", false},
		{"sum(b' in b .. B: input[a, b'])", true},
		{"sum(b' in b - 2 .. b + 3: input[a, b'])", true},
		{"sum(j in b - 2 .. b + 3: input[a, j])", false},
		{"sum(j in b .. B + 1: input[a, j])", false},
		{"sum(j < len(splits), k < splits[j]: input[a, sum(splits[:j]) + k])", true},
		{"sum(j < len(splits), k < splits[j]: input[a, sum(splits[:j]) + k + 1])", false},
		{"sum(j < len(splits), k < n: input[a, sum(splits[:j]) + k])", false},
		{"sum(x: list[x])", true},
		{"sum(keep(x, axes), drop(x, axes): list[x])", true},
		{"sum(x[:n], x[n:]: list[x])", true},
		{"sum(x[:n], x[pad:]: list[x])", false},
		{"sum(keep(x, axes): list[x])", false},
		{"sum(i, p: pieces[i][p])", false},                        // a statement is computed for each tensor i by itself
		{"sum(j < count(pieces), p < P[j]: pieces[j][p])", false}, // p is the index of P[i]
		{"sum(j < count(pieces), r < P[j]: pieces[j][r])", true},
		{"sum(j < count(pieces), r < P[j] + 1: pieces[j][r])", false},
		{"sum(j <= count(pieces), r < P[j]: pieces[j][r])", false},
		{"prod(X[1:])", false},
		{"(len(X) >= 1 ? prod(X[1:]) : 0)", true},
		{"(len(X) >= 1 ? prod(X[:2]) : 0)", false},
		{"(len(X) == 0 ? 0 : prod(X[:1]))", true},
		{"sum(x[1:], x[:1]: list[x])", false},
		{"X[0]", false},
		{"(len(X) > 0 ? X[0] : 0)", true},
		{"(len(X) > n ? X[n] : 0)", true},
		{"(len(X) >= n ? X[n] : 0)", false},
		{"input[a, b * 4611686018427387904 * 4]", false}, // the product wraps
		{"maybe", false},
		{"(has(maybe) ? maybe : 0)", true},
		{"(!has(maybe) ? 0 : maybe)", true},
		{"(has(maybe) || flag ? maybe : 0)", false},
	}
	var list diag.List
	s := spec.Read("proved.toml", provedSpec, &list)
	s.Slots[3].Role.V = "weight"
	c := &catalogue{scopes: map[*spec.Spec]*scope.Scope{s: scope.New(s, &list)}}
	if !list.Empty() {
		t.Fatal(list.Sorted()[0].Message)
	}
	for _, tt := range tests {
		text := "output[a] = sum(b: b * " + tt.read + ")"
		var found []string
		for _, d := range c.check(s, text) {
			found = append(found, d.Message)
		}
		if ok := len(found) == 0; ok != tt.ok {
			t.Errorf("%s: found %q, want ok %v", tt.read, strings.Join(found, "; "), tt.ok)
		}
	}
}

// TestGuardsInFunctions checks reads that conditions guard, where the conditions, the reads or both are in
// functions.
func TestGuardsInFunctions(t *testing.T) {
	tests := []struct {
		functions, term string // the term is one of a sum over b, for each a
		ok              bool
	}{
		{"pick(i) = i >= 0 && i < B ? row[i] : 0", "pick(loose[a])", true},
		{"pick(i) = i >= 0 && i <= B ? row[i] : 0", "pick(loose[a])", false},
		{"pick(a) = loose[a] >= 0 && loose[a] < B ? row[loose[a]] : 0", "pick(a)", true},
		{"pick(a) = loose[a] >= 0 && loose[0] < B ? row[loose[a]] : 0", "pick(a)", false},
		{"within(i) = i >= 0 && i < B", "(within(loose[a]) ? input[a, loose[a]] : 0)", true},
		{"within(i) = i >= 0 && i < B", "(within(loose[0]) ? input[a, loose[a]] : 0)", false},
		{"within(i) = i >= 0 && i < B", "(within(loose[a]) || a > 0 ? input[a, loose[a]] : 0)", false},
		{"within(i) = i >= 0 && i < B", "sum(b' if within(b' - b): input[a, b' - b])", true},
		{"out(i) = i < 0 || i >= B", "(out(loose[a]) ? 0 : input[a, loose[a]])", true},
		{"out(i) = i < 0 && i >= B", "(out(loose[a]) ? 0 : input[a, loose[a]])", false},
		{"out(i) = i < 0 || i >= B", "(!out(loose[a]) ? input[a, loose[a]] : 0)", true},
		{"within(i) = i >= 0 && i < B\npick(a, i) = within(i) ? input[a, i] : 0", "pick(a, loose[a] + 1)", true},
		{"within(i) = i >= 0 && i < B\npick(a, i) = within(i + 1) ? input[a, i] : 0", "pick(a, loose[a])", false},
		{"pick(c, i) = c ? row[i] : 0", "pick(loose[a] >= 0 && loose[a] < B, loose[a])", true},
		{"pick(c, i) = c ? row[i] : 0", "pick(loose[a] >= 0 && loose[a] < B, loose[0])", false},
		{"at(a) = loose[a]", "(at(a) >= 0 && at(a) < B ? input[a, loose[a]] : 0)", true},
		{"at(a) = loose[a]\nwithin(a) = at(a) >= 0 && at(a) < B", "(within(a) ? input[a, at(a)] : 0)", true},
		{"at(a) = loose[a]\nwithin(a) = at(a) >= 0 && at(a) < B", "(within(0) ? input[a, at(a)] : 0)", false},
		{"pick(a) = loose[a] >= 0 && min(loose[a], B - 1) >= 0 ? row[min(loose[a], B - 1)] : 0", "pick(a)", true},

		{"within(i) = within(i) && i < B", "(within(loose[a]) ? input[a, loose[a]] : 0)", false},
	}
	var list diag.List
	s := spec.Read("proved.toml", provedSpec, &list)
	s.Slots[3].Role.V = "weight"
	c := &catalogue{scopes: map[*spec.Spec]*scope.Scope{s: scope.New(s, &list)}}
	for _, tt := range tests {
		var found []string
		for _, d := range c.check(s, tt.functions+"\noutput[a] = sum(b: b * "+tt.term+")") {
			found = append(found, d.Message)
		}
		if ok := len(found) == 0; ok != tt.ok {
			t.Errorf("%s: %s: found %q, want ok %v", tt.functions, tt.term, strings.Join(found, "; "), tt.ok)
		}
	}
}

// TestElementsOfLists checks reads that lie in their tensors because an element of a list is at least its
// minimum and at most its maximum, and reads that do not.
func TestElementsOfLists(t *testing.T) {
	t.Parallel()
	c := readCatalogue(t)
	for _, test := range []struct {
		spec, formula, want string
	}{
		{"trim_sequence", "output[i, l, b] = input[i][l, b]", ""},
		{"trim_sequence", "output[i, l, b] = input[0][l, b]", ""},
		{"trim_sequence", "output[i, l, b] = input[i][C[i] - min(C) + l, b]", ""},
		{"trim_sequence", "output[i, l, b] = input[i][min(C) - 1 - l, b]", ""},
		{"trim_sequence", "output[i, l, b] = input[i][l + 1, b]", "l + 1"},
		{"trim_sequence", "output[i, l, b] = input[i][C[i] - max(C) + l, b]", "C[i] - max(C) + l"},
		{"trim_sequence", "output[i, l, b] = input[i][max(C) - min(C) + l, b]", "max(C) - min(C) + l"},
		{"pad_sequence", "output[i, l, b] = input[i][l, b] + 0 * value", "l ranges over max(C)"},
		{"pad_sequence", "output[i, l, b] = l >= max(C) - C[i] ? input[i][l - max(C) + C[i], b] : value", ""},
		{"pad_sequence", "output[i, l, b] = l >= max(C) - C[0] ? input[i][l - max(C) + C[i], b] : value", "l - max(C) + C[i]"},
	} {
		found := c.check(c.byName[test.spec], test.formula)
		switch {
		case test.want == "" && len(found) > 0:
			t.Errorf("%s: %s: found %s", test.spec, test.formula, found[0].Message)
		case test.want != "" && (len(found) == 0 || !strings.Contains(found[0].Message, test.want)):
			t.Errorf("%s: %s: found %v, want %s", test.spec, test.formula, found, test.want)
		}
	}
}
