package randomformula

import (
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// TestTextsOfKinds checks that each text of each kind gives formulas that opgen check accepts: one that it
// refuses is not judged.
func TestTextsOfKinds(t *testing.T) {
	for _, k := range kinds {
		for i := range max(len(k.texts), 1) {
			one, text := k, k.name
			if !k.any {
				one.texts, text = k.texts[i:i+1], k.texts[i]
			}
			accepted, last := 0, ""
			const draws = 12
			for number := uint64(0); number < draws && accepted < draws/3; number++ {
				c := one.formula(5, number)
				if lines := strings.Join(slices.Concat(c.Lines, c.Meant), " "); strings.ContainsAny(lines, "${}") || strings.Contains(lines, "=>") ||
					slices.ContainsFunc(k.once, func(o [2]string) bool { return strings.Contains(lines, o[0]) }) {
					t.Fatalf("%s: want a text that is expanded, got %s", k.name, lines)
				}
				if message := findings(c); message == "" {
					accepted++
				} else {
					last = message
				}
			}
			if accepted < draws/3 {
				t.Errorf("%s: %s: want a third of %d formulas to be accepted, got %d: %s", k.name, text, draws, accepted, last)
			}
		}
	}
}

// findings returns the first finding of opgen check, or "". It adds what the spec has to say about gradients.
func findings(c *Case) string {
	for {
		var list diag.List
		specs := []driver.Input{{Path: "specs/op.toml", Text: c.Spec()}}
		for _, name := range c.Applied {
			specs = append(specs, driver.Input{Path: "specs/" + name + ".toml", Text: OtherSpec(name)})
		}
		driver.Resolve(specs, &list)
		if list.Empty() {
			return ""
		}
		message := list.Sorted()[0].Message
		_, rest, ok := strings.Cut(message, "gives each element of the gradient of ")
		if !ok || slices.Contains(c.Scatter, strings.Fields(rest)[0]) {
			return message
		}
		c.Scatter = append(c.Scatter, strings.Fields(rest)[0])
	}
}

// TestOfKind checks that a seed gives the same formula again, and that other numbers give others.
func TestOfKind(t *testing.T) {
	for _, name := range Kinds() {
		specs := map[string]bool{}
		for number := range uint64(20) {
			a, b := OfKind(name, 5, number), OfKind(name, 5, number)
			if a.Spec() != b.Spec() || a.Values != b.Values {
				t.Fatalf("%s, formula %d differs from itself:\n%s\n%s", name, number, a.Spec(), b.Spec())
			}
			specs[a.Spec()] = true
		}
		if len(specs) < 8 {
			t.Errorf("%s: want 8 different formulas at least, got %d of 20", name, len(specs))
		}
	}
	if OfKind("none", 5, 0) != nil {
		t.Error("want no formula of a kind that is not there, got one")
	}
}
