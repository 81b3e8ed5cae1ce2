package workspace

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/format"
	"github.com/opgen/opgen/internal/source"
)

// Fix is a set of edits, and the findings that go by them.
type Fix struct {
	Title string
	Edits []diag.Edit
	Of    []*diag.Diagnostic
}

// Fixes returns the edits that findings of a file propose, of those that touch the bytes from start to end.
// If the file has others, too, the last fix does all of them.
func Fixes(found []*diag.Diagnostic, start, end int) []Fix {
	var out []Fix
	var all Fix
	for _, d := range found {
		if len(d.Edits) == 0 {
			continue
		}
		if _, err := diag.Apply(append(all.Of, d)); err == nil {
			all.Of, all.Edits = append(all.Of, d), append(all.Edits, d.Edits...)
		}
		if d.Span.Start <= end && d.Span.End >= start {
			out = append(out, Fix{titleOf(d.Edits), d.Edits, []*diag.Diagnostic{d}})
		}
	}
	if len(out) > 0 && len(all.Of) > 1 {
		all.Title = fmt.Sprintf("Make all %d edits that findings of this file propose", len(all.Of))
		out = append(out, all)
	}
	return out
}

// titleOf says what edits do.
func titleOf(edits []diag.Edit) string {
	var parts []string
	for _, e := range edits {
		old := strings.TrimSpace(e.Span.File.Text[e.Span.Start:e.Span.End])
		switch {
		case old == "":
			parts = append(parts, "insert "+strings.TrimSpace(e.New))
		case strings.TrimSpace(e.New) == "":
			parts = append(parts, "remove "+old)
		default:
			parts = append(parts, "replace "+old+" by "+e.New)
		}
	}
	text := strings.Join(parts, ", ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// Format returns the edits by which a spec, or opgen.toml, gets the form that opgen fmt gives it: at most
// one, which leaves out what stays as it is. A file that is not TOML has no form.
func (s *Snapshot) Format(path string) []diag.Edit {
	old, ok := s.Text(path)
	if !ok {
		return nil
	}
	text, err := format.File(path, old)
	if err != nil || text == old {
		return nil
	}
	return []diag.Edit{difference(&source.File{Path: path, Text: old}, text)}
}

// difference returns the edit that makes a text of a file's, as whole lines.
func difference(f *source.File, text string) diag.Edit {
	start, end, last := 0, len(f.Text), len(text)
	for start < min(end, last) && f.Text[start] == text[start] {
		start++
	}
	start = strings.LastIndexByte(f.Text[:start], '\n') + 1
	for end > start && last > start && f.Text[end-1] == text[last-1] {
		end, last = end-1, last-1
	}
	for end < len(f.Text) && (end == 0 || f.Text[end-1] != '\n') {
		end, last = end+1, last+1
	}
	return diag.Edit{Span: source.Span{File: f, Start: start, End: end}, New: text[start:last]}
}
