package driver_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// TestFollowedCosts checks formulas whose costs follow from small examples: none contradicts the formula, as
// if the spec stated it.
func TestFollowedCosts(t *testing.T) {
	for _, formula := range []string{
		"output[k] = max(cos(k / 4), v[k])", "output[k] = sum(k': v[k' / 2])", "output[k] = sum(a in k .. 3: v[k / 2] * (1 + a))",
		"output[k] = count(a in k .. 3) * v[k]", "output[k] = mean(a in 2 .. k if v[k] > a: (v[a] else 1))", "output[k] = exp(-k / 5) + v[k]",
		"output[k] = logsumexp(a in k - 4 .. 0 if v[k] > a: scale[] * (1 + a))", "output[k] = max(a in k + 2 .. k if v[k] > a: scale[] * a)",
	} {
		for _, examples := range []string{"v = [1]", "v = [1]\n\n[[examples]]\nv = [2]", "v = [2]", "v = [4]", "v = [1]\n\n[[examples]]\nv = [7]"} {
			slots := "v = { role = \"input\", type = \"T\", shape = [\"K\"] }\n"
			if strings.Contains(formula, "scale") {
				slots += "scale = { role = \"input\", type = \"T\", shape = [] }\n"
				examples = strings.ReplaceAll(examples, "v = ", "scale = []\nv = ")
			}
			text := "edition = 1\nname = \"a\"\ndoc = \"A test.\"\nformula = \"" + formula + "\"\n\n[dtypes]\nT = [\"f32\", \"f64\"]\n\n[slots]\n" +
				slots + "output = { role = \"output\", type = \"T\", shape = [\"K\"] }\n\n" +
				"[tasks.forward]\n[tasks.backward]\n\n[[examples]]\n" + examples + "\n"
			var list diag.List
			driver.Resolve([]driver.Input{{Path: "specs/a.toml", Text: text}}, &list)
			if list.Empty() {
				continue
			}
			if first := list.Sorted()[0]; strings.Contains(first.Message, "operations") {
				t.Errorf("%s, examples %q: %s", formula, examples, first.Message)
			}
		}
	}
}
