package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

var formulaName = regexp.MustCompile(`[a-z_][a-z_0-9]*`)

// lostNames returns the names on the left sides of lines with syntax errors. Uses of these names are not
// reported as undefined, since the line that defines them has an error already.
func lostNames(text string, errs []*expr.Error) map[string]bool {
	names := map[string]bool{}
	for _, err := range errs {
		at := min(err.Pos, len(text))
		if at > 0 && at == len(text) || at < len(text) && text[at] == '\n' {
			at = max(at-1, 0) // the end of a line
		}
		line := text[strings.LastIndexByte(text[:at], '\n')+1:]
		line, _, _ = strings.Cut(line, "\n")
		left, _, _ := strings.Cut(line, "=")
		for _, name := range formulaName.FindAllString(left, -1) {
			names[name] = true
		}
	}
	return names
}

// enumOf returns the enum attribute that has a value of this name, or nil.
func (f *formula) enumOf(name string) *Attr {
	if f.s == nil || name == "" {
		return nil
	}
	for _, a := range f.s.Attrs {
		if a.Type != "enum" {
			continue
		}
		if values, _ := f.enumValues(a); slices.Contains(values, name) {
			return a
		}
	}
	return nil
}

// overIndex returns the hint how to write a reduction over an index, such as max(k: ...).
func overIndex(name, index string) string {
	return fmt.Sprintf("a %s over an index has a colon: %s(%s: ...)", name, name, index)
}
