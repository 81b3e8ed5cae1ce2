package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner finds the positions of keys and values in valid TOML. For other input it ends as well, with a tree
// or an error.
type scanner struct {
	file *File
	text string
	pos  int

	depth      int  // of the tables and arrays around
	dup, first Span // a key that is defined twice, and where it was before
	dupKey     string
}

var errSyntax = errors.New("unexpected character")

// Limits of a file. They keep time and memory linear in its size.
const (
	maxDepth    = 64    // tables and arrays within each other
	MaxKey      = 100   // bytes of a key
	maxEntries  = 1000  // keys of a table
	maxElements = 10000 // elements of an array
)

// limitError says which limit a file exceeds, or which key it may not have.
type limitError struct {
	Span
	message string
}

func (e *limitError) Error() string { return e.message }

// limit returns the error of a limit that is exceeded at the scanner's place.
func (s *scanner) limit(format string, args ...any) error {
	at := min(s.pos, len(s.text))
	return &limitError{Span{s.file, at, at}, fmt.Sprintf(format, args...)}
}

// enter counts a table or array around what follows.
func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return s.limit("want at most %d tables and arrays within each other", maxDepth)
	}
	return nil
}

// add adds an entry to a table.
func (s *scanner) add(t *Table, e *Entry) error {
	if len(t.Entries) == maxEntries {
		return s.limit("want at most %d keys in a table", maxEntries)
	}
	t.Entries = append(t.Entries, e)
	return nil
}

// element adds an element to an array.
func (s *scanner) element(a *Array, n Node) error {
	if len(a.Elems) == maxElements {
		return s.limit("want at most %d elements in an array", maxElements)
	}
	a.Elems = append(a.Elems, n)
	return nil
}

func (s *scanner) document() (*Table, error) {
	root := &Table{Span: Span{s.file, 0, len(s.text)}}
	current := root
	defined := map[*Table]bool{} // by a [header]
	for {
		s.blank(true)
		if s.pos >= len(s.text) {
			return root, nil
		}
		if s.text[s.pos] != '[' {
			if err := s.keyValue(current); err != nil {
				return nil, err
			}
			continue
		}
		start := s.pos
		array := strings.HasPrefix(s.text[s.pos:], "[[")
		s.pos++
		if array {
			s.pos++
		}
		keys, err := s.keys()
		if err != nil {
			return nil, err
		}
		end := "]"
		if array {
			end = "]]"
		}
		if !strings.HasPrefix(s.text[s.pos:], end) {
			return nil, errSyntax
		}
		s.pos += len(end)
		header := Span{s.file, start, s.pos}
		parent, err := s.descend(root, keys[:len(keys)-1])
		if err != nil {
			return nil, err
		}
		last := keys[len(keys)-1]
		e := parent.Get(last.Key)
		switch {
		case array:
			current = &Table{Span: header}
			if e == nil {
				last.Value = &Array{Span: header}
				if err := s.add(parent, last); err != nil {
					return nil, err
				}
				e = last
			}
			a, ok := e.Value.(*Array)
			if !ok {
				return nil, s.twice(last, e)
			}
			if err := s.element(a, current); err != nil {
				return nil, err
			}
		case e == nil:
			current = &Table{Span: header}
			last.Value = current
			if err := s.add(parent, last); err != nil {
				return nil, err
			}
			defined[current] = true
		default:
			t, ok := e.Value.(*Table)
			if !ok || t.inline || defined[t] {
				return nil, s.twice(last, e)
			}
			t.Span, e.KeySpan = header, last.KeySpan // so far the table was only implied
			defined[t] = true
			current = t
		}
	}
}

func (s *scanner) twice(e, first *Entry) error {
	s.dup, s.first, s.dupKey = e.KeySpan, first.KeySpan, e.Key
	return fmt.Errorf("key %s is defined twice", e.Key)
}

// descend returns the table that keys lead to, making tables that are only implied.
func (s *scanner) descend(t *Table, keys []*Entry) (*Table, error) {
	for _, k := range keys {
		e := t.Get(k.Key)
		if e == nil {
			k.Value = &Table{Span: k.KeySpan}
			if err := s.add(t, k); err != nil {
				return nil, err
			}
			e = k
		}
		switch v := e.Value.(type) {
		case *Table:
			if v.inline {
				return nil, s.twice(k, e)
			}
			t = v
		case *Array:
			if len(v.Elems) == 0 {
				return nil, s.twice(k, e)
			}
			last, ok := v.Elems[len(v.Elems)-1].(*Table)
			if !ok {
				return nil, s.twice(k, e)
			}
			t = last
		default:
			return nil, s.twice(k, e)
		}
	}
	return t, nil
}

func (s *scanner) keyValue(t *Table) error {
	keys, err := s.keys()
	if err != nil {
		return err
	}
	if s.pos >= len(s.text) || s.text[s.pos] != '=' {
		return errSyntax
	}
	s.pos++
	s.blank(false)
	v, err := s.value()
	if err != nil {
		return err
	}
	t, err = s.descend(t, keys[:len(keys)-1])
	if err != nil {
		return err
	}
	last := keys[len(keys)-1]
	if e := t.Get(last.Key); e != nil {
		return s.twice(last, e)
	}
	last.Value = v
	return s.add(t, last)
}

// keys reads a dotted key and the spaces after it.
func (s *scanner) keys() ([]*Entry, error) {
	var keys []*Entry
	for {
		s.blank(false)
		start := s.pos
		var key string
		switch c := s.peek(); {
		case c == '"' || c == '\'':
			if err := s.quoted(); err != nil {
				return nil, err
			}
			key = s.text[start+1 : s.pos-1]
			if c == '"' {
				if u, err := unquote(key); err == nil {
					key = u
				}
			}
		default:
			for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(s.text[s.pos])) {
				s.pos++
			}
			if s.pos == start {
				return nil, errSyntax
			}
			key = s.text[start:s.pos]
		}
		if key == "" { // BurntSushi/toml loses elements of an array before a table with such a key
			s.pos = start
			return nil, s.limit("want a key with a character at least, got %s", s.text[start:start+2])
		}
		if s.pos-start > MaxKey {
			s.pos = start
			return nil, s.limit("want keys of at most %d bytes", MaxKey)
		}
		if len(keys) == maxDepth {
			return nil, s.limit("want at most %d tables and arrays within each other", maxDepth)
		}
		keys = append(keys, &Entry{Key: key, KeySpan: Span{s.file, start, s.pos}})
		s.blank(false)
		if s.peek() != '.' {
			return keys, nil
		}
		s.pos++
	}
}

// unquote resolves the escapes of a TOML basic string, which are Go's and a few more.
func unquote(raw string) (string, error) {
	var b strings.Builder
	for len(raw) > 0 {
		if strings.HasPrefix(raw, `\e`) {
			b.WriteByte(0x1b)
			raw = raw[2:]
			continue
		}
		r, multi, tail, err := strconv.UnquoteChar(raw, '"')
		if err != nil {
			return "", err
		}
		if multi || r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteRune(r) // \xHH above 0x7f names a code point in TOML
		}
		raw = tail
	}
	return b.String(), nil
}

func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// blank skips spaces and comments and, if lines is set, ends of lines.
func (s *scanner) blank(lines bool) {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			s.pos++
		case c == '#' && lines:
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
		case strings.HasPrefix(s.text[s.pos:], "\ufeff") && s.pos == 0:
			s.pos += len("\ufeff")
		default:
			return
		}
	}
}

func (s *scanner) value() (Node, error) {
	start := s.pos
	switch s.peek() {
	case '"', '\'':
		if err := s.quoted(); err != nil {
			return nil, err
		}
		return &Scalar{Span: Span{s.file, start, s.pos}}, nil
	case '[':
		return s.array()
	case '{':
		return s.inlineTable()
	}
	end, err := s.bare()
	if err != nil {
		return nil, err
	}
	return &Scalar{Span: Span{s.file, start, end}}, nil
}

// bare skips a value that is neither quoted nor in brackets, and returns where it ends.
func (s *scanner) bare() (end int, err error) {
	start := s.pos
	for s.pos < len(s.text) && !strings.ContainsRune(",]}\n\r#", rune(s.text[s.pos])) {
		s.pos++
	}
	end = start + len(strings.TrimRight(s.text[start:s.pos], " \t"))
	if end == start {
		return 0, errSyntax
	}
	return end, nil
}

// quoted skips a string of any of the four kinds.
func (s *scanner) quoted() error {
	q := s.text[s.pos : s.pos+1]
	if strings.HasPrefix(s.text[s.pos:], q+q+q) {
		end := strings.Repeat(q, 3)
		for s.pos += 3; s.pos < len(s.text); s.pos++ {
			if q == `"` && s.text[s.pos] == '\\' {
				s.pos++
				continue
			}
			if strings.HasPrefix(s.text[s.pos:], end) {
				s.pos += 3
				for range 2 { // up to two quotes may precede the end
					if strings.HasPrefix(s.text[s.pos:], q) {
						s.pos++
					}
				}
				return nil
			}
		}
		return errSyntax
	}
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && q == `"`:
			s.pos++
		case c == q[0]:
			s.pos++
			return nil
		case c == '\n':
			return errSyntax
		}
	}
	return errSyntax
}

func (s *scanner) array() (Node, error) {
	start := s.pos
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer func() { s.depth-- }()
	s.pos++
	a := &Array{}
	for {
		s.blank(true)
		switch s.peek() {
		case ']':
			s.pos++
			a.Span = Span{s.file, start, s.pos}
			return a, nil
		case ',':
			s.pos++
			continue
		case 0:
			return nil, errSyntax
		}
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		if err := s.element(a, v); err != nil {
			return nil, err
		}
	}
}

func (s *scanner) inlineTable() (Node, error) {
	start := s.pos
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer func() { s.depth-- }()
	s.pos++
	t := &Table{}
	for {
		s.blank(true)
		switch s.peek() {
		case '}':
			s.pos++
			t.Span, t.inline = Span{s.file, start, s.pos}, true
			return t, nil
		case ',':
			s.pos++
			continue
		case 0:
			return nil, errSyntax
		}
		if err := s.keyValue(t); err != nil {
			return nil, err
		}
	}
}
