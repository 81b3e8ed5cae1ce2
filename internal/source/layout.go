package source

import "strings"

// Item is a header, or a key with its value, with the comments around it.
type Item struct {
	Above  []string // the lines of comments above it; "" is a blank line
	Header string   // "[" or "[["; "" of a key with a value
	Name   Name
	Value  *Literal // nil of a header
	Beside string   // the comment behind it on its last line
}

// Name is a key, perhaps a dotted one.
type Name struct {
	Keys []string
	Text string // as the file writes it, without spaces
}

// Literal is a value as the file writes it.
type Literal struct {
	Open  string // "[" of an array, "{" of a table, "" of anything else
	Text  string // of anything else
	Elems []*Element
	Below []string // comments behind the last element, on lines of their own
}

// Element is an element of an array, or a key with its value of a table.
type Element struct {
	Above  []string
	Breaks bool // whether it begins a line
	Name   Name // of a table
	Value  *Literal
	Beside string
}

// Layout returns the headers, keys and values of a file that Parse reads, in order, with all comments, and
// the lines of comments at its end.
func Layout(text string) (items []*Item, end []string, err error) {
	s := &scanner{file: &File{Text: text}, text: text}
	for {
		above, _ := s.comments()
		if s.pos >= len(s.text) {
			return items, above, nil
		}
		item := &Item{Above: above}
		if s.peek() == '[' {
			err = s.header(item)
		} else {
			item.Name, item.Value, err = s.pair()
		}
		if err != nil {
			return nil, nil, err
		}
		item.Beside = s.beside()
		items = append(items, item)
	}
}

// header reads a header.
func (s *scanner) header(item *Item) (err error) {
	item.Header = "["
	if strings.HasPrefix(s.text[s.pos:], "[[") {
		item.Header = "[["
	}
	s.pos += len(item.Header)
	if item.Name, err = s.name(); err != nil {
		return err
	}
	if !strings.HasPrefix(s.text[s.pos:], strings.Repeat("]", len(item.Header))) {
		return errSyntax
	}
	s.pos += len(item.Header)
	return nil
}

// pair reads a key and its value.
func (s *scanner) pair() (name Name, value *Literal, err error) {
	if name, err = s.name(); err != nil {
		return name, nil, err
	}
	if s.peek() != '=' {
		return name, nil, errSyntax
	}
	s.pos++
	s.blank(false)
	value, err = s.literal()
	return name, value, err
}

func (s *scanner) name() (Name, error) {
	entries, err := s.keys()
	var n Name
	for i, e := range entries {
		if i > 0 {
			n.Text += "."
		}
		n.Keys = append(n.Keys, e.Key)
		n.Text += s.text[e.KeySpan.Start:e.KeySpan.End]
	}
	return n, err
}

// literal reads a value.
func (s *scanner) literal() (*Literal, error) {
	start := s.pos
	switch s.peek() {
	case '"', '\'':
		err := s.quoted()
		return &Literal{Text: s.text[start:s.pos]}, err
	case '[', '{':
		return s.list()
	}
	end, err := s.bare()
	if err != nil {
		return nil, err
	}
	return &Literal{Text: s.text[start:end]}, nil
}

// list reads an array or a table on one line.
func (s *scanner) list() (*Literal, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer func() { s.depth-- }()
	l := &Literal{Open: string(s.peek())}
	s.pos++
	var above []string
	breaks := false
	for {
		more, line := s.comments()
		above, breaks = append(above, more...), breaks || line
		switch s.peek() {
		case ']', '}':
			s.pos++
			l.Below = above
			return l, nil
		case ',':
			s.pos++
			if comment := s.beside(); comment == "" {
				continue
			} else if n := len(l.Elems); n > 0 && l.Elems[n-1].Beside == "" && len(above) == 0 {
				l.Elems[n-1].Beside = comment
			} else {
				above = append(above, comment)
			}
			continue
		case 0:
			return nil, errSyntax
		}
		e := &Element{Above: above, Breaks: breaks}
		var err error
		if l.Open == "{" {
			e.Name, e.Value, err = s.pair()
		} else {
			e.Value, err = s.literal()
		}
		if err != nil {
			return nil, err
		}
		e.Beside = s.beside()
		l.Elems = append(l.Elems, e)
		above, breaks = nil, false
	}
}

// comments skips spaces, ends of lines and comments. It returns the comments, with "" for blank lines before
// and between them, and whether there was an end of a line.
func (s *scanner) comments() (lines []string, ends bool) {
	blank := 0 // ends of lines since the last comment
	if s.pos == 0 {
		blank = 1
	}
	for {
		s.blank(false)
		switch c := s.peek(); {
		case c == '\r':
			s.pos++
		case c == '\n':
			s.pos++
			ends = true
			if blank++; blank == 2 {
				lines = append(lines, "")
			}
		case c == '#':
			lines = append(lines, s.comment())
			blank = 0
		default:
			return lines, ends
		}
	}
}

// beside returns the comment that follows on the same line; "" if there is none.
func (s *scanner) beside() string {
	s.blank(false)
	if s.peek() != '#' {
		return ""
	}
	return s.comment()
}

func (s *scanner) comment() string {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
	return strings.TrimRight(s.text[start:s.pos], " \t\r")
}
