package emit

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layout returns a formatted file of package pkg with a package comment and declarations. It adds the imports of the packages in
// e.packages that the declarations use.
func (e *emitter) layout(pkg, doc, body string) ([]byte, error) {
	var b bytes.Buffer
	if doc != "" {
		for _, line := range commentLines(doc) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("package " + pkg + "\n\n")
	e.imports(&b, body)
	b.WriteString(body)
	src, err := e.format(b.Bytes())
	if err != nil {
		return nil, err
	}
	return breakDeclarations(src)
}

// format formats a file. The operator's description is left as it is if it is laid out.
func (e *emitter) format(src []byte) ([]byte, error) {
	at := bytes.Index(src, []byte("\n"+operatorBegin))
	if !e.laid || at < 0 {
		return format.Source(src)
	}
	at++
	end := at + bytes.Index(src[at:], []byte(operatorEnd)) + len(operatorEnd)
	laid := src[at:end]
	if _, err := parser.ParseFile(token.NewFileSet(), "", slices.Concat([]byte("package p\n"), laid), parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	before, err := format.Source(src[:at])
	if err != nil {
		return nil, err
	}
	after, err := format.Source(src[end:])
	return slices.Concat(before, laid, after), err
}

// breakDeclarations breaks the lines of formatted Go code that are too long. It formats the declarations around them
// once more, and no others: a declaration's layout does not depend on its neighbors.
func breakDeclarations(src []byte) ([]byte, error) {
	var out []byte
	code := string(src)
	begin, at, long := 0, 0, false // of the declaration, of the line, and whether a line of the declaration must be broken
	for line := range strings.Lines(code) {
		at += len(line)
		long = long || breakAt(line) > 0
		if line != "}\n" && line != ")\n" {
			continue
		}
		decl := code[begin:at]
		begin = at
		if !long {
			out = append(out, decl...)
			continue
		}
		long = false
		broken, err := format.Source([]byte(breakLines(decl)))
		if err != nil {
			return nil, err
		}
		out = append(out, broken...)
	}
	return append(out, breakLines(code[begin:])...), nil
}

// imports prints the imports of the packages that declarations use: those of the standard library before all others, with an empty line
// between them.
func (e *emitter) imports(b *bytes.Buffer, body string) {
	names := e.used(body) // by path
	if e.embeds {
		names["embed"] = "_"
	}
	var std, others []string
	for _, p := range slices.Sorted(maps.Keys(names)) {
		line := strconv.Quote(p)
		if name := names[p]; name != path.Base(p) {
			line = name + " " + line
		}
		if strings.Contains(p, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	switch {
	case len(names) == 0:
		return
	case len(names) == 1:
		b.WriteString("import " + append(std, others...)[0] + "\n\n")
		return
	case len(std) > 0 && len(others) > 0:
		std = append(std, "")
	}
	b.WriteString("import (\n" + strings.Join(append(std, others...), "\n") + "\n)\n\n")
}

// used returns the names of the packages in e.packages that Go code uses, by path.
func (e *emitter) used(code string) map[string]string {
	out := map[string]string{}
	var name string // the last identifier, if it is no field or method and names a package
	var dotted bool // whether a period follows it
	var previous token.Token
	scan(code, func(_ token.Pos, tok token.Token, text string) {
		switch {
		case tok == token.PERIOD && name != "" && !dotted:
			dotted = true
		case tok == token.IDENT && dotted:
			out[e.packages[name]] = name
			name, dotted = "", false
		case tok == token.IDENT && previous != token.PERIOD && e.packages[text] != "":
			name, dotted = text, false
		default:
			name, dotted = "", false
		}
		previous = tok
	})
	return out
}

// width is the largest number of columns of a generated line, except lines that Go does not let be broken.
const width = 116

// breakLines breaks lines of code that are too long. It breaks them after the comma or operator that the
// fewest brackets enclose.
func breakLines(code string) string {
	var out strings.Builder
	for line := range strings.Lines(code) {
		for {
			at := breakAt(line)
			if at == 0 {
				break
			}
			out.WriteString(line[:at] + "\n")
			line = strings.Repeat("\t", indentOf(line)+1) + strings.TrimLeft(line[at:], " ")
		}
		out.WriteString(line)
	}
	return out.String()
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, "\t")) }

// breakAt returns the offset at which to break a line, or 0 if the line is short or cannot be broken.
func breakAt(line string) int {
	indent := indentOf(line)
	if over := indent*(tab-1) + len(strings.TrimRight(line, "\n")) - width; over <= 0 || strings.HasPrefix(line[indent:], "//") {
		return 0
	}
	best, least, depth := 0, 1<<30, 0
	scan(line, func(at token.Pos, tok token.Token, text string) {
		end := int(at) - 1 + len(tok.String())
		switch tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
		case token.COMMA, token.LAND, token.LOR, token.ADD:
			if depth <= least && end+indent*(tab-1) <= width {
				best, least = end, depth
			}
		}
	})
	if strings.TrimSpace(line[best:]) == "" {
		return 0
	}
	return best
}

// scan calls visit with every token of Go code. Positions are offsets plus one.
func scan(code string, visit func(at token.Pos, tok token.Token, text string)) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", 1, len(code))
	s.Init(file, []byte(code), nil, 0)
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return
		}
		visit(at, tok, text)
	}
}
