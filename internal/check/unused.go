package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Declared is an attribute or a dimension of a spec.
type Declared struct {
	What, Name string
	GoName     string // as kernels select it: Attrs.Dim, Dims.P
	Span       source.Span
}

// docText matches what follows doc in a spec: a text for readers.
var docText = regexp.MustCompile(`^\s*=\s*("([^"\\\n]|\\.)*"|'[^'\n]*')`)

// stretch is a part of a text, by offsets.
type stretch struct{ start, end int }

// saysNothing returns the parts of a spec that say nothing about what an operator does: texts for readers,
// comments and examples.
func saysNothing(s *spec.Spec) []stretch {
	var out []stretch
	text := s.File.Text
	for at := 0; ; {
		i := strings.Index(text[at:], "doc")
		if i < 0 {
			break
		}
		start := at + i
		at = start + len("doc")
		if start > 0 && (isNameStart(text[start-1]) || isDigit(text[start-1])) {
			continue // the end of another name
		}
		if m := docText.FindStringIndex(text[at:]); m != nil {
			at += m[1]
			out = append(out, stretch{start, at})
		}
	}
	start := 0
	for line := range strings.Lines(text) {
		end := start + len(line)
		if strings.HasPrefix(strings.TrimLeft(line, " \t\f\r"), "#") {
			out = append(out, stretch{start, end})
		}
		start = end
	}
	for _, x := range s.Examples {
		out = append(out, stretch{x.Span.Start, x.Span.End})
	}
	return out
}

func isNameStart(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Unused returns the attributes, and the dimensions of [dims], whose names the spec says nowhere but in their
// declarations, in examples and in texts for readers. An axis that binds a dimension names it for the shapes.
// An enum of one value names the member of a family that the operator is.
func Unused(s *spec.Spec) []Declared {
	var all []Declared
	for _, a := range s.Attrs {
		member := s.Family.Set() && a.Type.V == "enum" && len(a.Values) == 1
		if !a.Binds.Set() && !member {
			all = append(all, Declared{"attribute", a.Name, "Attrs." + goname.Exported(a.Name), a.Key})
		}
	}
	for _, d := range s.Dims {
		all = append(all, Declared{"dimension", d.Name, "Dims." + d.Name, d.Key})
	}
	if all == nil {
		return nil
	}
	used := make(map[string]int, len(all))
	for _, d := range all {
		used[d.Name] = 0
	}
	skip, text := saysNothing(s), s.File.Text
	for at := 0; at < len(text); {
		if !isNameStart(text[at]) {
			at++
			continue
		}
		start := at
		for at < len(text) && (isNameStart(text[at]) || isDigit(text[at])) {
			at++
		}
		n, declared := used[text[start:at]]
		if declared && !slices.ContainsFunc(skip, func(p stretch) bool { return p.start <= start && at <= p.end }) {
			used[text[start:at]] = n + 1
		}
	}
	return slices.DeleteFunc(all, func(d Declared) bool { return used[d.Name] > 1 })
}

// Scratch returns the scratch slots that the spec states.
func Scratch(s *spec.Spec) []Declared {
	var out []Declared
	for _, x := range s.Slots {
		if x.Role.V == "scratch" && !x.Bad && x.GradOf == "" {
			out = append(out, Declared{What: "scratch slot", Name: x.Name, Span: x.Key})
		}
	}
	return out
}
