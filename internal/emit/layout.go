package emit

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
)

// layout returns a formatted file of package pkg with a package comment and declarations. It imports the
// packages of e.packages that the parsed declarations name. The parse tree is formatted as it is, so the file
// is parsed and formatted once.
func (e *emitter) layout(pkg, doc, body string) ([]byte, error) {
	var head strings.Builder
	if doc != "" {
		head.WriteString(strings.Join(commentLines(doc), "\n") + "\n")
	}
	clause := "package " + pkg + "\n"
	head.WriteString(clause + "\n")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", head.String()+breakLines(body), parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var formatted bytes.Buffer
	if err := format.Node(&formatted, fset, file); err != nil {
		return nil, err
	}
	// The comment may have a line like the package clause, but with the slashes of a comment before it.
	before, after, _ := bytes.Cut(append([]byte("\n"), formatted.Bytes()...), []byte("\n"+clause))
	before = bytes.TrimPrefix(append(before, '\n'), []byte("\n"))
	return slices.Concat(before, []byte(clause), []byte(e.imports(file)), after), nil
}

// imports returns the declaration of a file's imports: those of the standard library, an empty line, and the
// others.
func (e *emitter) imports(file *ast.File) string {
	paths := map[string]string{} // the names of packages, by their paths
	for _, id := range file.Unresolved {
		if p := e.packages[id.Name]; p != "" {
			paths[p] = id.Name
		}
	}
	if e.embeds {
		paths["embed"] = "_"
	}
	var std, others []string
	for p, name := range paths {
		line := fmt.Sprintf("\t%q\n", p)
		if name != path.Base(p) {
			line = fmt.Sprintf("\t%s %q\n", name, p)
		}
		if strings.Contains(p, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	byPath := func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
	}
	slices.SortFunc(std, byPath)
	slices.SortFunc(others, byPath)
	if len(std) > 0 && len(others) > 0 {
		std = append(std, "\n")
	}
	all := slices.Concat(std, others)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "\nimport " + strings.TrimSpace(all[0]) + "\n"
	}
	return "\nimport (\n" + strings.Join(all, "") + ")\n"
}

// width is the largest number of columns of a generated line, except lines that Go does not let be broken.
const width = 116

// tab is how many columns a tab takes.
const tab = 4

// breakLines breaks lines of code that are too long, after the comma or operator that the fewest brackets
// enclose. The indentation of a line is that which go/format will give it: one more within the brackets that
// another line opens.
func breakLines(code string) string {
	var out strings.Builder
	l := lines{at: 0, tokens: tokens(code)}
	for text := range strings.Lines(code) {
		indent, marks := l.next(text)
		text = strings.TrimLeft(text, "\t ")
		for {
			at := breakAt(text, indent, marks)
			if at == 0 {
				break
			}
			out.WriteString(text[:at] + "\n")
			rest := strings.TrimLeft(text[at:], " ")
			for i := range marks {
				marks[i].end -= len(text) - len(rest)
			}
			if text = rest; !l.broken {
				indent, l.broken = indent+1, true
			}
		}
		l.broken = false
		out.WriteString(text)
	}
	return out.String()
}

// mark is a token of code: a bracket, or one behind which a line may be broken.
type mark struct {
	end   int // the offset of the end of the token
	tok   token.Token
	depth int // in brackets of the line
}

// tokens returns the marks of code.
func tokens(code string) []mark {
	var out []mark
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", 1, len(code))
	s.Init(file, []byte(code), nil, 0)
	for {
		at, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.LPAREN, token.LBRACE, token.LBRACK, token.RPAREN, token.RBRACE, token.RBRACK, token.COMMA, token.LAND,
			token.LOR, token.ADD:
			out = append(out, mark{end: int(at) - 1 + len(tok.String()), tok: tok})
		}
	}
}

// lines goes through code line by line.
type lines struct {
	at     int    // where the next line begins
	tokens []mark // behind there
	open   []bool // of each open bracket, whether the lines within are indented for it
	indent int
	broken bool // whether the line was broken
}

// next goes to the next line. It returns the line's indentation and its marks, with offsets from where the
// line's text begins.
func (l *lines) next(line string) (indent int, marks []mark) {
	text := strings.TrimLeft(line, "\t ")
	closed := len(text) - len(strings.TrimLeft(text, ")]}")) // brackets of other lines that the line begins with closing
	begin, end := l.at+len(line)-len(text), l.at+len(line)
	l.at = end
	count := 0
	for count < len(l.tokens) && l.tokens[count].end <= end {
		count++
	}
	marks, l.tokens = l.tokens[:count], l.tokens[count:]
	outer, depth := len(l.open), 0
	indent = l.indent
	for i := range marks {
		m := &marks[i]
		switch m.tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
			l.open = append(l.open, false)
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
			if k := len(l.open) - 1; k >= 0 {
				if l.open[k] {
					l.indent--
				}
				l.open = l.open[:k]
				outer = min(outer, k)
			}
			if i < closed {
				indent = l.indent
			}
		}
		m.depth = depth
		m.end -= begin
	}
	if len(l.open) > outer { // the line opens brackets, for the first of which others are indented
		l.open[outer] = true
		l.indent++
	}
	return indent, marks
}

// breakAt returns the offset at which to break a line, or 0 if the line is short or cannot be broken.
func breakAt(line string, indent int, marks []mark) int {
	if indent*tab+len(strings.TrimRight(line, "\n")) <= width || strings.HasPrefix(line, "//") {
		return 0
	}
	best, least := 0, 1<<30
	for _, m := range marks {
		switch m.tok {
		case token.COMMA, token.LAND, token.LOR, token.ADD:
			if m.end > 0 && m.depth <= least && m.end+indent*tab <= width {
				best, least = m.end, m.depth
			}
		}
	}
	if strings.TrimSpace(line[best:]) == "" {
		return 0
	}
	return best
}
