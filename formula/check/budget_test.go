package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// TestTooManySteps checks that a formula which takes too many steps to check is refused at the line where the
// check ends, once, and that shorter ones of the same kinds are not.
func TestTooManySteps(t *testing.T) {
	doubled := func(first string, n int) string {
		text := "f0(y, x) = " + first + "\n"
		for i := range n {
			text += fmt.Sprintf("f%d(y, x) = f%d(y, x) + f%[2]d(y, x)\n", i+1, i)
		}
		return text + fmt.Sprintf("output[a] = sum(b: 0%s)", strings.Repeat(fmt.Sprintf(" + f%d(a, b)", n), 12))
	}
	const read = "input[y, max(x - 1, x - 2, x - 3, x - 4, x - 5, x - 6, x - 7, x - 8, x - 9, 0)]"
	cases := func(n int) string {
		var flags []string
		for i := range n {
			flags = append(flags, fmt.Sprintf("flag%d", i))
		}
		all := strings.Join(flags, " && ")
		return "output[a] = input[a, 0] when " + all + "\noutput[a] = 0 when !(" + all + ")"
	}
	declared := ""
	for i := range 13 {
		declared += fmt.Sprintf("flag%d = { type = \"bool\" }\n", i)
	}
	for _, c := range []struct {
		text string
		line int // of the finding; 0 if there is none
	}{
		{doubled("x + y", 5), 0},
		{doubled("x + y", 20), 13},
		{doubled(read, 1), 0},
		{doubled(read, 6), 8}, // of proofs
		{cases(12), 0},
		{cases(13), 1},
	} {
		var list diag.List
		s := spec.Read("proved.toml", strings.Replace(provedSpec, "[dims]", declared+"[dims]", 1), &list)
		s.Slots[3].Role.V = "weight"
		k := &catalogue{scopes: map[*spec.Spec]*scope.Scope{s: scope.New(s, &list)}}
		found := k.check(s, c.text)
		switch {
		case c.line == 0 && len(found) > 0:
			t.Errorf("%.60s...: found %s", c.text, found[0].Message)
		case c.line > 0 && (len(found) != 1 || !strings.Contains(found[0].Message, "too many steps")):
			t.Errorf("%.60s...: found %d, want that it takes too many steps", c.text, len(found))
		case c.line > 0 && strings.Count(c.text[:found[0].Pos], "\n")+1 != c.line:
			t.Errorf("%.60s...: found at line %d, want line %d", c.text, strings.Count(c.text[:found[0].Pos], "\n")+1, c.line)
		}
	}
}
