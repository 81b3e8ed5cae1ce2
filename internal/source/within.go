package source

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Within returns the span of bytes lo to hi of a string value; that of the whole string if it cannot be told,
// which no valid string leads to.
func (s *Scalar) Within(lo, hi int) Span {
	if v, ok := s.Value.(string); ok { // as most strings, without a list of all bytes
		if raw, at, _ := s.inner(); raw == v && 0 <= lo && lo <= hi && hi <= len(raw) {
			return Span{s.File, at + lo, at + hi}
		}
	}
	pieces := s.pieces()
	if lo < 0 || lo > hi || hi >= len(pieces) {
		return s.Span
	}
	end := pieces[lo].start
	if lo < hi {
		end = pieces[hi-1].end
	}
	return Span{s.File, pieces[lo].start, end}
}

// piece is where a byte of a string stands in its file. All bytes that an escape stands for have its place.
type piece struct{ start, end int }

// pieces returns the place of each byte of a string's value, and that of its end; nil if there is no string.
func (s *Scalar) pieces() []piece {
	v, ok := s.Value.(string)
	if !ok {
		return nil
	}
	raw, at, basic := s.inner()
	end := at + len(raw)
	var out []piece
	for len(raw) > 0 {
		text, width := raw[:1], 1
		switch {
		case strings.HasPrefix(raw, "\r\n") && strings.HasPrefix(v, "\n"):
			text, width = "\n", 2
		case basic && raw[0] == '\\':
			if text, width = escape(raw); width == 0 {
				return nil
			}
		}
		if !strings.HasPrefix(v, text) {
			return nil
		}
		for range len(text) {
			out = append(out, piece{at, at + width})
		}
		v, raw, at = v[len(text):], raw[width:], at+width
	}
	if v != "" {
		return nil
	}
	return append(out, piece{end, end})
}

// inner returns what stands between the quotes of a string, and where it begins. basic strings have escapes.
func (s *Scalar) inner() (raw string, at int, basic bool) {
	raw = s.File.Text[s.Start:s.End]
	for _, q := range []string{`"""`, `'''`, `"`, `'`} {
		if !strings.HasPrefix(raw, q) || len(raw) < 2*len(q) {
			continue
		}
		raw, at = raw[len(q):len(raw)-len(q)], s.Start+len(q)
		for _, newline := range []string{"\r\n", "\n"} {
			if rest, ok := strings.CutPrefix(raw, newline); ok && len(q) == 3 {
				return rest, at + len(newline), q[0] == '"'
			}
		}
		return raw, at, q[0] == '"'
	}
	return "", s.Start, false
}

// escapes holds the escapes of one letter.
var escapes = map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}

// escape returns what the escape stands for that raw begins with, and how long it is; 0 if there is none.
func escape(raw string) (text string, width int) {
	if len(raw) < 2 {
		return "", 0
	}
	if text, ok := escapes[raw[1]]; ok {
		return text, 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[1]]
	if digits > 0 && len(raw) >= 2+digits {
		r, err := strconv.ParseUint(raw[2:2+digits], 16, 32)
		if err != nil {
			return "", 0
		}
		return string(utf8.AppendRune(nil, rune(r))), 2 + digits
	}
	rest := strings.TrimLeft(raw[1:], " \t\r\n") // a backslash at the end of a line takes the blanks behind it away
	if strings.Contains(raw[1:len(raw)-len(rest)], "\n") {
		return "", len(raw) - len(rest)
	}
	return "", 0
}
