package check_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// TestQuotientsHaveOneMeaning checks which functions are refused since / rounds down in some of their uses
// and not in others.
func TestQuotientsHaveOneMeaning(t *testing.T) {
	const meaning = "/ has two meanings"
	for text, want := range map[string]string{
		"lo(p) = p * B / n\noutput[a] = sum(b in lo(a) .. lo(a + 1): input[a, b])":                       "",
		"lo(p) = p * B / n\noutput[a] = sum(b in lo(a) .. B: input[a, b] * (b - lo(a)))":                 meaning,
		"lo(p) = p * B / n\noutput[a] = sum(b: (b - lo(a)) * (b > 3 ? input[a, min(lo(b), 0)] : 0))":     meaning,
		"lo(p) = quotient(p * B, n)\noutput[a] = sum(b in lo(a) .. B: input[a, b] * (b - lo(a)))":        "",
		"lo(p) = ceildiv(p * B, n)\noutput[a] = sum(b in lo(a) .. B: input[a, b] * (b - lo(a)))":         "",
		"half() = B / 2\noutput[a] = sum(b in half() .. B: input[a, b]) / half()":                        meaning,
		"half(x) = x / 2\noutput[a] = sum(b in half(a) .. B: half(input[a, b]))":                         "", // of real numbers, it has no other
		"half(x) = x / 2\ntop(x) = half(x) + 1\noutput[a] = sum(b in top(a) .. B: input[a, b]) * top(a)": meaning,
		"half(x) = x / 2\ntop(x) = half(x) + 1\noutput[a] = sum(b in top(a) .. half(B): input[a, b])":    "",
		"half(x) = x % 2\noutput[a] = sum(b in half(a) .. B: input[a, b]) * half(a)":                     "",
		"output[a] = sum(b in a / 2 .. B: input[a, b]) * (a / 2)":                                        "", // as the page says
	} {
		var list diag.List
		s := spec.Read("proved.toml", provedSpec, &list)
		s.Slots[3].Role.V = "weight"
		c := &catalogue{scopes: map[*spec.Spec]*scope.Scope{s: scope.New(s, &list)}}
		var found []string
		for _, d := range c.check(s, text) {
			found = append(found, d.Message+" "+d.Hint)
		}
		got := strings.Join(found, "; ")
		if want == "" && got != "" || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "quotient(") {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// TestKindsOfAlternatives checks that an integer and a real number of which one counts are a real number,
// unless attributes decide.
func TestKindsOfAlternatives(t *testing.T) {
	const refused = "want an integer, got a float"
	for text, want := range map[string]string{
		"output[a] = sum(b: (input[a, b + 1] else 0) % 2)":                              refused,
		"output[a] = sum(b: (input[a, b + 1] else 0) * n % 2)":                          refused,
		"output[a] = sum(b: 2 % ((input[a, b + 1] else 1)))":                            refused,
		"output[a] = sum(b: (b > 1 ? 0.5 : b) % 2)":                                     refused,
		"output[a] = sum(b: (input[a, b] > 1 ? input[a, b] : b) % 2)":                   refused,
		"output[a] = sum(b: (flag ? b : 0.5) % 2)":                                      "",
		"output[a] = sum(b: (input[a, b + 1] else 0) * 2)":                              "",
		"output[a] = sum(b: (b > 1 ? 3 : b) % 2 * input[a, b])":                         "",
		"t[b] = count(a if input[a, b] > 0)\noutput[a] = sum(b: (t[b + 1] else 0) % 2)": "",
	} {
		var list diag.List
		s := spec.Read("proved.toml", provedSpec, &list)
		s.Slots[3].Role.V = "weight"
		c := &catalogue{scopes: map[*spec.Spec]*scope.Scope{s: scope.New(s, &list)}}
		var found []string
		for _, d := range c.check(s, text) {
			found = append(found, d.Message)
		}
		got := strings.Join(found, "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
