package check_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

const rangesSpec = `edition = 1
name = "ranged"
doc  = "x"
[dtypes]
T = ["f32", "f64"]
[attrs]
mode = { type = "enum", values = ["NEAREST", "LINEAR", "CUBIC"] }
flag = { type = "bool" }
bare = { type = "bool" }
size = { type = "int", min = 1 }
[slots]
x    = { role = "input", type = "T", shape = ["A", "3"] }
mask = { role = "output", type = "T", shape = ["A", "3"], present = "caller" }
y    = { role = "output", type = "T", shape = ["A", "3"] }
[require]
cubic = { that = "mode != 'CUBIC' || bare", message = "want bare" }
small = { that = "size < 9 || bare", message = "want bare" }
`

// TestRangesWhereStatementsCount checks that an index has a range in all cases in which a statement counts
// that uses it, whichever statements count beside it.
func TestRangesWhereStatementsCount(t *testing.T) {
	var list diag.List
	s := spec.Read("ranged.toml", rangesSpec, &list)
	sc := scope.New(s, &list)
	if !list.Empty() {
		t.Fatal(list.Sorted()[0].Message)
	}
	c := &catalogue{byName: map[string]*spec.Spec{"ranged": s}, scopes: map[*spec.Spec]*scope.Scope{s: sc}}
	sums := "y[a, p] = sum(o: w[a, o]) * x[a, p]"
	for _, f := range []struct{ text, want string }{
		{"w[a, o] = x[a, o] for o < 3 when mode == 'NEAREST'\nw[a, o] = x[a, o] * 2 when mode != 'NEAREST'\n" + sums, "nothing says over what o ranges where mode is LINEAR"},
		{"w[a, o] = x[a, o] for o < 3 when mode == 'NEAREST'\nw[a, o] = x[a, o] * 2 for o < 3 when mode != 'NEAREST'\n" + sums, ""},
		{"w[a, o] = x[a, o] for o < 3 when mode in ['LINEAR', 'CUBIC']\nw[a, o] = x[a, o] * 2 for o < 3 when mode == 'NEAREST' && flag\n" +
			"w[a, o] = x[a, o] * 3 when mode == 'NEAREST' && !flag\n" + sums, "nothing says over what o ranges where mode is NEAREST and flag is false"},
		{"w[a, o] = x[a, o] for o < 3 when size > 2\nw[a, o] = x[a, o] * 2 when size <= 2\n" + sums, "nothing says over what o ranges where 2 < size is false"},
		{"w[a, o] = x[a, o] for o < 3 when size > 2\nw[a, o] = x[a, o] * 2 for o < 3 when size <= 2\n" + sums, ""},
		{"w[a, o] = x[a, o] for o < 3 when size == 2\nw[a, o] = x[a, o] * 2 when size != 2\n" + sums, "nothing says over what o ranges where size == 2 is false"},
		{"w[a] = sum(o < 3: x[a, o]) when size >= 3\nw[a] = x[a, 0] when size < 3\nv[a] = sum(o: x[a, o]) when size >= 3\nv[a] = 1 when size < 3\ny[a, p] = v[a] + w[a] + p", ""},
		{"w[a] = sum(o < 3: x[a, o]) when size != 2\nw[a] = x[a, 0] when size == 2\nv[a] = sum(o: x[a, o]) when size != 2\nv[a] = 1 when size == 2\ny[a, p] = v[a] + w[a] + p", ""},
		{"w[a] = sum(o < 3: x[a, o]) when bare\nw[a] = sum(o < 3: x[a, o]^2) when !bare && mode != 'CUBIC'\nw[a] = 0 when !bare && mode == 'CUBIC'\ny[a, p] = w[a] * sum(o: x[a, o]) + p", ""}, // as cubic requires
		{"w[a, o] = x[a, o] for o < 3 when size == 2\nw[a, o] = x[a, o] * 2 for o < 3 when size != 2\n" + sums, ""},
		{"w[a, o] = x[a, o] for o < 3 when size < 3\nw[a, o] = x[a, o] * 2 for o < 3 when 3 <= size\n" + sums, ""},
		{"w[a, o] = x[a, o] for o < 3 when size < 3\nw[a, o] = x[a, o] * 2 for o < 3 when size >= 3\n" + sums, ""},
		{"w[a, o] = x[a, o] for o < 3 when size < 9\nw[a, o] = x[a, o] * 2 when size >= 9\n" + sums, ""}, // whether it may be 9 is not known
		{"mask[a, o] = x[a, o]\ny[a, p] = mask[a, 0] + sum(o: x[a, o]) + p", ""},
		{"w[a] = sum(o < 3: x[a, o]) when flag\nw[a] = x[a, 0] when !flag\ny[a, p] = w[a] * sum(o: x[a, o]) + p", "nothing says over what o ranges where flag is false"},
		{"w[a] = sum(o < 3: x[a, o]) when flag\nw[a] = sum(o < 3: x[a, o]^2) when !flag\ny[a, p] = w[a] * sum(o: x[a, o]) + p", ""},
		{"w[a] = sum(o < 3: x[a, o]) when flag\nw[a] = x[a, 0] when !flag\nv[a] = sum(o: x[a, o]) when flag\nv[a] = 1 when !flag\ny[a, p] = v[a] + w[a] + p", ""},
		{"mask[a, o] = x[a, o]\ny[a, p] = sum(o: x[a, o]) + p", "nothing says over what o ranges where present(mask) is false"},
		{"y[a, o] = x[a, o] when flag\ny[a, o] = x[a, o] * 2 when !flag\nmask[a, p] = sum(o: y[a, o]) + p", ""},
		{"first() = sum(o < 3: x[0, o] else 0)\nw[a] = first() when flag\nw[a] = x[a, 0] when !flag\ny[a, p] = w[a] * sum(o: x[a, o]) + p", "nothing says over what o ranges where flag is false"},
	} {
		if !strings.Contains(f.text, "mask[") {
			f.text += "\nmask[a, p] = x[a, p]"
		}
		findings := c.check(s, f.text)
		switch {
		case f.want == "" && len(findings) > 0:
			t.Errorf("%s: %s", f.text, findings[0].Message)
		case f.want != "" && (len(findings) != 1 || findings[0].Message != f.want || !strings.HasPrefix(f.text[findings[0].Pos:], "o")):
			t.Errorf("%s: got %v, want %q at o", f.text, findings, f.want)
		}
	}
}
