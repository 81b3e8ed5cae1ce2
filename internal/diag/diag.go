// Package diag holds diagnostics as data and prints them.
package diag

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/source"
)

// Code is the stable name of a rule, such as "OP102". Rules lists all of them.
type Code string

// Diagnostic is one finding.
type Diagnostic struct {
	Code    Code
	Span    source.Span
	Message string
	Hint    string // what to do about it; "" if the message says it
	Related []Related
	Edits   []Edit // which do what the hint says, if that is certain
}

// Related is another place that a finding refers to.
type Related struct {
	Span    source.Span
	Message string
}

// List collects diagnostics. The zero List is empty and ready to use.
type List struct{ all []*Diagnostic }

// Add adds a finding and returns it, so that a hint or related places can be added.
func (l *List) Add(code Code, span source.Span, format string, args ...any) *Diagnostic {
	if _, ok := Rules[code]; !ok {
		panic("diag: unknown code " + string(code)) // a bug of the generator, which its tests find
	}
	d := &Diagnostic{Code: code, Span: span, Message: line(format, args)}
	l.all = append(l.all, d)
	return d
}

// Hinted sets the hint.
func (d *Diagnostic) Hinted(format string, args ...any) *Diagnostic {
	d.Hint = line(format, args)
	return d
}

// See adds a related place.
func (d *Diagnostic) See(span source.Span, format string, args ...any) *Diagnostic {
	d.Related = append(d.Related, Related{span, line(format, args)})
	return d
}

// line formats a text that may quote a file. The result is one line.
func line(format string, args []any) string { return printable(fmt.Sprintf(format, args...)) }

// printable replaces characters that would upset a terminal, or change how others are shown. It cuts a text
// that is too long to be read.
func printable(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || source.Hidden(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// maxText is how many bytes of a message are shown.
const maxText = 2000

// Last returns the finding that was added last.
func (l *List) Last() *Diagnostic { return l.all[len(l.all)-1] }

// Merge adds the findings of another list.
func (l *List) Merge(other *List) { l.all = append(l.all, other.all...) }

// Len returns how many findings there are.
func (l *List) Len() int { return len(l.all) }

// Limit keeps the first n findings, by file and position, and returns how many others there were.
func (l *List) Limit(n int) (dropped int) {
	if len(l.all) <= n {
		return 0
	}
	all := l.Sorted()
	l.all = all[:min(n, len(all))]
	return len(all) - len(l.all)
}

// Empty reports whether nothing was found.
func (l *List) Empty() bool { return len(l.all) == 0 }

// Sorted returns the findings by file, position and code, without duplicates.
func (l *List) Sorted() []*Diagnostic {
	out := slices.Clone(l.all)
	slices.SortStableFunc(out, func(a, b *Diagnostic) int {
		return cmp.Or(
			cmp.Compare(path(a.Span), path(b.Span)),
			cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(out, func(a, b *Diagnostic) bool {
		return a.Span == b.Span && a.Code == b.Code && a.Message == b.Message
	})
}

func path(s source.Span) string {
	if s.File == nil {
		return ""
	}
	return s.File.Path
}

// WriteText prints findings: position, code and message, the source line with the place underlined, then
// related places and the hint.
func WriteText(w io.Writer, ds []*Diagnostic) error {
	var b strings.Builder
	for _, d := range ds {
		writePlace(&b, d.Span, fmt.Sprintf("%s: %s", d.Code, d.Message))
		for _, r := range d.Related {
			writePlace(&b, r.Span, "note: "+r.Message)
		}
		if d.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", d.Hint)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writePlace(b *strings.Builder, s source.Span, message string) {
	if s.File == nil {
		fmt.Fprintf(b, "%s\n", message)
		return
	}
	line, col := s.File.Position(s.Start)
	fmt.Fprintf(b, "%s:%d:%d: %s\n", printable(s.File.Path), line, col, message)
	text := []rune(s.File.Line(line)) // one for each byte that is not UTF-8
	if strings.TrimSpace(string(text)) == "" {
		return
	}
	from, to := col-1, len(text)
	if endLine, endCol := s.File.Position(s.End); endLine == line {
		to = min(max(endCol-1, col), to)
	}
	text, from, to = excerpt(text, from, to)
	// Tabs before the caret are kept, so that the caret is below its character for every width of tabs.
	pad := []rune(strings.Repeat(" ", from))
	for i := range min(len(pad), len(text)) {
		if text[i] == '\t' {
			pad[i] = '\t'
		}
	}
	fmt.Fprintf(b, "  %s\n  %s%s\n", printable(string(text)), string(pad), strings.Repeat("^", max(1, to-from)))
}

// maxLine is how much of a source line is shown, and context how much of it in front of the place.
const (
	maxLine = 200
	context = 80
)

// excerpt cuts a long line to the part around the characters from and to, which it returns as a copy.
func excerpt(text []rune, from, to int) ([]rune, int, int) {
	dots := []rune("...")
	if len(text) <= maxLine {
		return text, from, to
	}
	if cut := from - context; cut > len(dots) {
		text = slices.Concat(dots, text[cut:])
		from, to = from-cut+len(dots), to-cut+len(dots)
	}
	if len(text) > maxLine {
		text = slices.Concat(text[:maxLine-len(dots)], dots)
		to = min(to, len(text))
	}
	return text, from, to
}
