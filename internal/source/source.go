// Package source reads TOML files into trees that keep the position of every key and value.
//
// BurntSushi/toml reads the values and finds syntax errors, but exposes positions for neither keys
// nor values. A small scanner of valid TOML, which this package adds, finds those.
package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// File is the text of a file.
type File struct {
	Path string // as diagnostics show it: relative to the module's root, with slashes
	Text string
}

// Span is a piece of a file: the bytes from Start to End.
type Span struct {
	File       *File
	Start, End int
}

// Position returns line and column, both from 1; columns count characters.
func (f *File) Position(offset int) (line, col int) {
	offset = min(max(offset, 0), len(f.Text))
	start := strings.LastIndexByte(f.Text[:offset], '\n') + 1
	return strings.Count(f.Text[:offset], "\n") + 1, utf8.RuneCountInString(f.Text[start:offset]) + 1
}

// Offset returns the offset of a line and a column, both from 1, and whether the file has that place.
func (f *File) Offset(line, col int) (int, bool) {
	offset := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(f.Text[offset:], '\n')
		if n < 0 {
			return 0, false
		}
		offset += n + 1
	}
	for ; col > 1; col-- {
		r, n := utf8.DecodeRuneInString(f.Text[offset:])
		if n == 0 || r == '\n' {
			return 0, false
		}
		offset += n
	}
	return offset, line == 1 && col == 1
}

// Pos is a place in a file. Line and column count from 1; columns count characters.
type Pos struct {
	File         string
	Line, Column int
}

// String formats the place as file:line:column.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// MarshalText writes what String returns.
func (p Pos) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Pos returns the place where the span begins.
func (s Span) Pos() Pos {
	if s.File == nil {
		return Pos{}
	}
	line, col := s.File.Position(s.Start)
	return Pos{s.File.Path, line, col}
}

// Line returns the text of a line, numbered from 1, without its end.
func (f *File) Line(n int) string {
	lines := strings.SplitAfterN(f.Text, "\n", n+1)
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimRight(lines[n-1], "\r\n")
}

// Node is a value: *Table, *Array or *Scalar.
type Node interface{ span() Span }

// Table is a table, inline or not.
type Table struct {
	Span
	Entries []*Entry // in the order of the file

	inline bool // a table in braces, to which nothing is added behind them
}

// Entry is a key with its value.
type Entry struct {
	Key     string
	KeySpan Span
	Value   Node
}

// Array is an array, or an array of tables.
type Array struct {
	Span
	Elems []Node
}

// Scalar is a string, int64, float64, bool or a time.
type Scalar struct {
	Span
	Value any
}

func (t *Table) span() Span  { return t.Span }
func (a *Array) span() Span  { return a.Span }
func (s *Scalar) span() Span { return s.Span }

// SpanOf returns the place of a node.
func SpanOf(n Node) Span { return n.span() }

// JSON returns a value as JSON. Numbers that JSON does not have become null.
func JSON(n Node) string { return marshal(n, false) }

// Exact returns a node as JSON does, with a point in each real number: 2.0 rather than 2.
func Exact(n Node) string { return marshal(n, true) }

func marshal(n Node, exact bool) string {
	data, err := json.Marshal(plain(n, exact))
	if err != nil {
		return "null"
	}
	return string(data)
}

func plain(n Node, exact bool) any {
	switch n := n.(type) {
	case *Table:
		m := map[string]any{}
		for _, e := range n.Entries {
			m[e.Key] = plain(e.Value, exact)
		}
		return m
	case *Array:
		l := []any{}
		for _, e := range n.Elems {
			l = append(l, plain(e, exact))
		}
		return l
	case *Scalar:
		f, real := n.Value.(float64)
		switch {
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		case math.IsNaN(f):
			return "nan"
		case exact && real && f == math.Trunc(f) && math.Abs(f) < 1<<53: // others have a point or an exponent anyway
			return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
		}
		return n.Value
	}
	return nil
}

// Get returns the entry of a key, or nil.
func (t *Table) Get(key string) *Entry {
	for _, e := range t.Entries {
		if e.Key == key {
			return e
		}
	}
	return nil
}

// Kind names the type of a node as TOML does.
func Kind(n Node) string {
	switch n := n.(type) {
	case *Table:
		return "table"
	case *Array:
		return "array"
	case *Scalar:
		switch n.Value.(type) {
		case string:
			return "string"
		case int64:
			return "integer"
		case float64:
			return "float"
		case bool:
			return "boolean"
		}
		return "date"
	}
	return "nothing"
}

// SyntaxError is the first error of a file that is not valid TOML.
type SyntaxError struct {
	Span
	Message string
	// First is where a key that is defined twice was defined before; its File is nil otherwise.
	First Span
}

func (e *SyntaxError) Error() string {
	line, col := e.File.Position(e.Start)
	return fmt.Sprintf("%s:%d:%d: %s", e.File.Path, line, col, e.Message)
}

// Parse reads a file. Besides what is not TOML, it refuses what exceeds a limit, and texts with characters
// that are not shown.
func Parse(path, text string) (*Table, *SyntaxError) {
	f := &File{Path: path, Text: text}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return nil, &SyntaxError{Span: Span{f, i, i + 1}, Message: "want UTF-8 text"}
		}
	}
	sc := &scanner{file: f, text: text}
	root, err := sc.document()
	var limit *limitError
	if errors.As(err, &limit) { // before the parser needs time and memory
		return nil, &SyntaxError{Span: limit.Span, Message: limit.message}
	}
	var values map[string]any
	if _, err := toml.Decode(text, &values); err != nil {
		return nil, syntaxError(f, err)
	}
	if err == nil {
		err = fillTable(root, values)
	}
	if err != nil {
		if sc.dup.File != nil { // the parser lets keys be added to a table in braces, which TOML does not
			return nil, &SyntaxError{Span: sc.dup, First: sc.first, Message: err.Error()}
		}
		// Only reachable where the scanner and BurntSushi/toml disagree about valid TOML.
		return nil, &SyntaxError{Span: Span{f, sc.pos, sc.pos}, Message: err.Error()}
	}
	if err := shown(root); err != nil {
		return nil, err
	}
	return root, nil
}

// shown returns an error for the first key or string below a node with a character that is not shown: a
// control character other than tab and line end, one that changes the direction of text, or a mark of the
// byte order.
func shown(n Node) *SyntaxError {
	switch n := n.(type) {
	case *Table:
		for _, e := range n.Entries {
			if err := shownText(e.KeySpan, e.Key); err != nil {
				return err
			}
			if err := shown(e.Value); err != nil {
				return err
			}
		}
	case *Array:
		for _, e := range n.Elems {
			if err := shown(e); err != nil {
				return err
			}
		}
	case *Scalar:
		if text, ok := n.Value.(string); ok {
			return shownText(n.Span, text)
		}
	}
	return nil
}

func shownText(s Span, text string) *SyntaxError {
	i := strings.IndexFunc(text, Hidden)
	if i < 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return &SyntaxError{Span: s, Message: fmt.Sprintf("want no %U in a text, which is not shown", r)}
}

// Hidden reports whether a character of a text is not shown, or changes how others are shown.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.In(r, unicode.Zl, unicode.Zp), unicode.Is(tags, r):
		return true
	}
	return r == '\ufeff' || r == '\u200b' || r == '\u2060' || r == '\u00ad'
}

// PlainPath reports whether a path, with slashes, has no characters that would end a comment or a link in
// generated files.
func PlainPath(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/-_.+@~ ", r)
	})
}

// repositories are the folders in which systems for version control keep what they know, also programs that
// they run.
var repositories = []string{".git", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", "cvs", ".fossil-settings"}

// InRepository reports whether a path, with slashes, leads into the folder of a system for version control,
// under any name by which a file system finds it: in other case, with dots and spaces at the end, by a short
// name, or with characters that are not shown.
func InRepository(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		name := strings.ToLower(strings.TrimRight(strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, part), ". "))
		name, _, _ = strings.Cut(name, ":") // of a stream of the file
		if slices.Contains(repositories, name) || shortGit.MatchString(name) {
			return true
		}
	}
	return false
}

// shortGit matches the short names that Windows gives the folder .git.
var shortGit = regexp.MustCompile(`^git~[0-9]+$`)

// tags are characters that repeat ASCII and are not shown.
var tags = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE007F, Stride: 1}}}

func syntaxError(f *File, err error) *SyntaxError {
	pe, ok := err.(toml.ParseError)
	if !ok {
		return &SyntaxError{Span: Span{f, 0, 0}, Message: err.Error()}
	}
	e := &SyntaxError{Message: pe.Message}
	if e.Message == "" {
		e.Message = strings.TrimPrefix(pe.Error(), "toml: ")
	}
	start := min(max(pe.Position.Start, 0), len(f.Text))
	// The parser backs up before it reports an unexpected character; point at the character itself.
	if _, got, ok := strings.Cut(e.Message, "got '"); ok && len(got) > 1 && got[1] == '\'' || ok && strings.HasPrefix(got, `\''`) {
		c := strings.TrimPrefix(got, `\`)[0]
		for i := start; i < min(start+2, len(f.Text)); i++ {
			if f.Text[i] == c {
				start = i
				break
			}
		}
	}
	e.Span = Span{f, start, min(start+max(pe.Position.Len, 0), len(f.Text))}
	if strings.HasPrefix(pe.Message, "expected value but found") {
		// The parser may have consumed the first letter.
		rest := f.Text[start:]
		if end := strings.IndexAny(rest, " \t\r\n,]}#"); end > 0 {
			rest = rest[:end]
		}
		e.End = start + len(rest)
		e.Message = fmt.Sprintf("want a value, got %s; strings need quotes", rest)
		if strings.ContainsAny(rest, "“”„‘’«»") {
			e.Message = fmt.Sprintf("want a value, got %s; the quotes of strings are those of the keyboard: \"", rest)
		}
	}
	line := strings.LastIndexByte(f.Text[:start], '\n') + 1
	for _, marker := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.HasPrefix(f.Text[line:], marker) {
			e.Span = Span{f, line, line + len(marker)}
			e.Message = "a merge left its conflict here: keep one of the versions, and remove the markers"
		}
	}
	if strings.Contains(pe.Message, "already been defined") || strings.Contains(pe.Message, "already exists") || strings.Contains(pe.Message, "Duplicate") {
		sc := &scanner{file: f, text: f.Text}
		if _, err := sc.document(); err != nil && sc.dup.File != nil {
			e.Span, e.First = sc.dup, sc.first
			e.Message = fmt.Sprintf("key %s is defined twice", sc.dupKey)
		}
	}
	return e
}

// fillTable gives the scalars of t their values.
func fillTable(t *Table, values map[string]any) error {
	if len(t.Entries) != len(values) {
		return fmt.Errorf("read %d keys, scanned %d", len(values), len(t.Entries))
	}
	for _, e := range t.Entries {
		v, ok := values[e.Key]
		if !ok {
			return fmt.Errorf("scanned key %q, which was not read", e.Key)
		}
		if err := fill(e.Value, v); err != nil {
			return err
		}
	}
	return nil
}

func fill(n Node, v any) error {
	switch n := n.(type) {
	case *Table:
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("scanned a table, read %T", v)
		}
		return fillTable(n, m)
	case *Array:
		var elems []any
		switch v := v.(type) {
		case []any:
			elems = v
		case []map[string]any:
			for _, m := range v {
				elems = append(elems, m)
			}
		default:
			return fmt.Errorf("scanned an array, read %T", v)
		}
		if len(elems) != len(n.Elems) {
			return fmt.Errorf("scanned %d elements, read %d", len(n.Elems), len(elems))
		}
		for i := range elems {
			if err := fill(n.Elems[i], elems[i]); err != nil {
				return err
			}
		}
	case *Scalar:
		if text, ok := v.(string); ok {
			v = strings.ReplaceAll(text, "\r\n", "\n") // Git may change line ends
		}
		n.Value = v
	}
	return nil
}
