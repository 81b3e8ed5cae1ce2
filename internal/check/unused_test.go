package check

import (
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
)

// TestUnusedPlaces checks in which parts of a spec a name counts as used.
func TestUnusedPlaces(t *testing.T) {
	for text, used := range map[string]bool{
		`formula = "y[i] = x[i] * k"`:                  true,
		`formula = "y[i] = x[i] * k2 + 3k"`:            true, // a name begins behind a digit
		`formula = "y[i] = x[i] * kk + k_ + k2"`:       false,
		`doc = "times k"`:                              false,
		`doc="a \" and k"`:                             false,
		`doc = 'times k'`:                              false,
		"doc = 'times x' # and k":                      true, // a comment behind a value was always read
		"  # k\n":                                      false,
		"predoc = \"times k\"":                         true,
		"docs = \"times k\"":                           true,
		"doc = \"\"\"\ntimes k\"\"\"":                  true, // a text of several lines is no string of one
		"formula = \"y[i] = x[i]\" # doc = \"with k\"": false,
	} {
		text = "name = \"op\"\n" + text + "\n[attrs]\nk = { type = \"float\" }\n"
		var list diag.List
		got := Unused(spec.Read("specs/op.toml", text, &list))
		if (len(got) == 0) != used {
			t.Errorf("%s: unused are %v, want used: %v", text, got, used)
		}
	}
}
