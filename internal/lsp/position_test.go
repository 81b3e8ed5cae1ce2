package lsp

import (
	"testing"

	"go.lsp.dev/protocol"
)

func TestPositions(t *testing.T) {
	text := "a\u00e9\U0001d54ab\r\nc\n\nd"
	l := linesOf(text)
	for _, c := range []struct {
		offset          int
		line, character uint32
	}{{0, 0, 0}, {1, 0, 1}, {3, 0, 2}, {7, 0, 4}, {8, 0, 5}, {10, 1, 0}, {11, 1, 1}, {12, 2, 0}, {13, 3, 0}, {14, 3, 1}} {
		p := protocol.Position{Line: c.line, Character: c.character}
		if got := l.position(c.offset); got != p {
			t.Errorf("position of byte %d: want %v, got %v", c.offset, p, got)
		}
		if got := l.offset(p); got != c.offset {
			t.Errorf("offset of %v: want %d, got %d", p, c.offset, got)
		}
	}
	for p, want := range map[protocol.Position]int{
		{Line: 0, Character: 3}:         3, // within a character of two units
		{Line: 0, Character: 99}:        8,
		{Line: 1, Character: 99}:        11,
		{Line: 9}:                       len(text),
		{Line: 1 << 31, Character: 1e9}: len(text),
	} {
		if got := l.offset(p); got != want {
			t.Errorf("offset of %v: want %d, got %d", p, want, got)
		}
	}
	for offset, want := range map[int]uint32{2: 1, 4: 2, 5: 2, 6: 2} {
		if got := l.position(offset); got != (protocol.Position{Character: want}) {
			t.Errorf("position of byte %d, within a character: want character %d, got %v", offset, want, got)
		}
	}
	if got := linesOf("\u20ac").position(2); got != (protocol.Position{}) {
		t.Errorf("position of the last byte of the first character: got %v", got)
	}
	if got := l.position(9); got != (protocol.Position{Line: 0, Character: 5}) {
		t.Errorf("position between the two bytes of a line end: got %v", got)
	}
}

func TestChange(t *testing.T) {
	at := func(line, from, to uint32) protocol.Range {
		return protocol.Range{Start: protocol.Position{Line: line, Character: from}, End: protocol.Position{Line: line, Character: to}}
	}
	text := "x\U0001d54ay\nz"
	for _, c := range []struct {
		change protocol.TextDocumentContentChangeEvent
		want   string
	}{
		{&protocol.TextDocumentContentChangeWholeDocument{Text: "new"}, "new"},
		{&protocol.TextDocumentContentChangePartial{Range: at(0, 1, 3), Text: "-"}, "x-y\nz"},
		{&protocol.TextDocumentContentChangePartial{Range: at(1, 1, 1), Text: "!"}, "x\U0001d54ay\nz!"},
		{&protocol.TextDocumentContentChangePartial{Range: at(0, 4, 1), Text: "!"}, "x\U0001d54ay!\nz"}, // an end in front of the start
	} {
		if got := change(text, c.change); got != c.want {
			t.Errorf("%v: want %q, got %q", c.change, c.want, got)
		}
	}
}
