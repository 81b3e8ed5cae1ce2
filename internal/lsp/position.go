package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// lines converts between offsets of a text and positions of the protocol, which count lines from 0 and, in a
// line, the units of UTF-16.
type lines struct {
	text   string
	starts []int // of the lines
}

func linesOf(text string) *lines {
	l := &lines{text, []int{0}}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case text[i] == '\n', text[i] == '\r':
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// end returns where the text of a line ends, in front of its line end.
func (l *lines) end(line int) int {
	if line+1 == len(l.starts) {
		return len(l.text)
	}
	start := l.starts[line]
	return start + len(strings.TrimRight(l.text[start:l.starts[line+1]], "\r\n"))
}

// offset returns the offset of a position. One behind the end of a line, or of the text, is that end.
func (l *lines) offset(p protocol.Position) int {
	if int64(p.Line) >= int64(len(l.starts)) {
		return len(l.text)
	}
	at, end := l.starts[p.Line], l.end(int(p.Line))
	for units := int64(p.Character); at < end && units > 0; {
		r, n := utf8.DecodeRuneInString(l.text[at:end])
		if units -= int64(width(r)); units < 0 {
			break // within a character
		}
		at += n
	}
	return at
}

// position returns the position of an offset; of one within a character, that of the character.
func (l *lines) position(offset int) protocol.Position {
	offset = min(max(offset, 0), len(l.text))
	line := sort.SearchInts(l.starts, offset+1) - 1
	units := 0
	for at, end := l.starts[line], l.end(line); at < end; {
		r, n := utf8.DecodeRuneInString(l.text[at:end])
		if at += n; at > offset {
			break
		}
		units += width(r)
	}
	return protocol.Position{Line: uint32(line), Character: uint32(units)}
}

// span returns the range of the bytes from start to end.
func (l *lines) span(start, end int) protocol.Range {
	return protocol.Range{Start: l.position(start), End: l.position(max(start, end))}
}

// width returns how many units of UTF-16 a character takes.
func width(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// change returns a text after a change that a client tells.
func change(text string, c protocol.TextDocumentContentChangeEvent) string {
	switch c := c.(type) {
	case *protocol.TextDocumentContentChangeWholeDocument:
		return c.Text
	case *protocol.TextDocumentContentChangePartial:
		l := linesOf(text)
		start := l.offset(c.Range.Start)
		end := max(start, l.offset(c.Range.End))
		return text[:start] + c.Text + text[end:]
	}
	return text
}
