package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/source"
)

// Edit replaces the text of a span.
type Edit struct {
	Span source.Span
	New  string
}

// Meant sets the hint that new was meant where the finding's place says old. If that place holds old and
// nothing else, but for quotes around it, the finding gets the edit that replaces it.
func (d *Diagnostic) Meant(old, new string) *Diagnostic {
	d.Hinted("did you mean %s?", new)
	s := d.Span
	if s.File == nil || strings.ContainsAny(new, "\"\\") || printable(new) != new {
		return d
	}
	text := s.File.Text[s.Start:s.End]
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[0] == text[len(text)-1] && text != old {
		s.Start, s.End = s.Start+1, s.End-1
		text = text[1 : len(text)-1]
	}
	if text == old {
		d.Edits = []Edit{{s, new}}
	}
	return d
}

// Nearest hints at the candidate that is nearest to the name that the finding's place says, and returns it.
// It returns "", and changes nothing, if no candidate is near.
func (d *Diagnostic) Nearest(name string, candidates []string) string {
	n := nearest.Name(name, candidates)
	if n != "" {
		d.Meant(name, n)
	}
	return n
}

// Suggest hints at the nearest candidate or, if none is near and they are few, lists all of them.
func (d *Diagnostic) Suggest(name, what string, candidates []string) {
	if d.Nearest(name, candidates) == "" && len(candidates) > 0 && len(candidates) <= 12 {
		d.Hinted("%s are %s", what, strings.Join(candidates, ", "))
	}
}

// Apply returns the texts of the files that the findings' edits change, by path. It is an error if two
// different edits overlap.
func Apply(ds []*Diagnostic) (map[string]string, error) {
	byPath := map[string][]Edit{}
	for _, d := range ds {
		for _, e := range d.Edits {
			if p := path(e.Span); !slices.Contains(byPath[p], e) {
				byPath[p] = append(byPath[p], e)
			}
		}
	}
	texts := map[string]string{}
	for p, edits := range byPath {
		slices.SortFunc(edits, func(a, b Edit) int {
			return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End), cmp.Compare(a.New, b.New))
		})
		var b strings.Builder
		text, at := edits[0].Span.File.Text, 0
		for i, e := range edits {
			if i > 0 && e.Span.Start < edits[i-1].Span.End {
				return nil, fmt.Errorf("%v: the edits %q and %q overlap", e.Span.Pos(), edits[i-1].New, e.New)
			}
			b.WriteString(text[at:e.Span.Start] + e.New)
			at = e.Span.End
		}
		texts[p] = b.String() + text[at:]
	}
	return texts, nil
}
