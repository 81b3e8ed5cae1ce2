package emit

import (
	"bytes"
	"errors"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// layout returns a formatted file of package pkg with a package comment and declarations. Package jen adds
// the imports of the packages in e.packages that the declarations use.
func (e *emitter) layout(pkg, doc, body string) ([]byte, error) {
	f := jen.NewFilePathName(e.gen(pkg), pkg)
	f.NoFormat = true // until imports are grouped and lines are broken
	for name, p := range e.packages {
		if name == path.Base(p) {
			f.ImportName(p, name)
		} else {
			f.ImportAlias(p, name)
		}
	}
	if doc != "" {
		for _, line := range commentLines(doc) {
			f.PackageComment(line)
		}
	}
	if e.embeds {
		f.Anon("embed")
	}
	f.Add(e.qualify(body))
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		return nil, err
	}
	src, err := e.format(groupImports(b.Bytes()))
	if err != nil {
		return nil, err
	}
	return breakDeclarations(src)
}

// laidBegin and laidEnd enclose what stands in a file in the place of the declaration that is laid out: an
// identifier of each package that it uses, so that package jen imports them. They begin lines, which texts
// from specs do not: those are within line comments and strings of one line.
const laidBegin, laidEnd = "/* laid out: */", "/* end */"

// layDown emits a declaration that has the form that go/format gives it. Its comment stands before it.
func (e *emitter) layDown(decl string) {
	e.laid = decl
	e.text.WriteString(laidBegin)
	used := map[string]bool{}
	e.references(decl, func(begin, end int, pkg, name string) {
		if !used[pkg] {
			used[pkg] = true
			e.text.WriteString("\n" + decl[begin:end])
		}
	})
	e.text.WriteString("\n" + laidEnd + "\n")
}

// format formats a file, except for the declaration that is laid out.
func (e *emitter) format(src []byte) ([]byte, error) {
	if e.laid == "" {
		return format.Source(src)
	}
	at := bytes.Index(src, []byte("\n"+laidBegin+"\n")) + 1
	_, after, found := bytes.Cut(src[at:], []byte("\n"+laidEnd+"\n"))
	if at == 0 || !found {
		return nil, errors.New("the place of a declaration is missing")
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+e.laid, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	before, err := format.Source(src[:at])
	if err != nil {
		return nil, err
	}
	after, err = format.Source(slices.Concat(bytes.TrimRight(after, " \n"), []byte("\n"))) // which keeps space at the end of a part of a file
	return slices.Concat(before, []byte(e.laid), after), err
}

// breakDeclarations breaks the lines of formatted Go code that are too long. It formats the declarations
// around them once more, and no others: a declaration's layout does not depend on its neighbors.
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

// qualify returns Go code with the names of the packages in e.packages qualified by their paths.
func (e *emitter) qualify(code string) *jen.Statement {
	out, at := &jen.Statement{}, 0 // at is where the code begins that out lacks
	e.references(code, func(begin, end int, pkg, name string) {
		out.Op(code[at:begin]).Qual(pkg, name)
		at = end
	})
	return out.Op(code[at:])
}

// references calls visit with each reference of Go code to a name of a package in e.packages: where it begins
// and ends, the path of the package, and the name.
func (e *emitter) references(code string, visit func(begin, end int, pkg, name string)) {
	var at, dot int // where the last identifier that is no field or method begins, and where a period follows it
	var pkg string  // the package that it names
	var previous token.Token
	scan(code, func(pos token.Pos, tok token.Token, text string) {
		here := int(pos) - 1
		switch {
		case tok == token.PERIOD && pkg != "":
			dot = here
		case tok == token.IDENT && previous == token.PERIOD && pkg != "" && dot > at:
			visit(at, here+len(text), pkg, text)
			pkg = ""
		case tok == token.IDENT && previous != token.PERIOD:
			at, pkg = here, e.packages[text]
		default:
			pkg = ""
		}
		previous = tok
	})
}

// groupImports puts imports of the standard library before all others, with an empty line between them.
// Package jen sorts all imports into one block.
func groupImports(src []byte) []byte {
	open, end := []byte("\nimport (\n"), []byte(")\n")
	before, rest, ok := bytes.Cut(src, open)
	block, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return src
	}
	var std, others []byte
	for line := range bytes.Lines(block) {
		if bytes.ContainsRune(line, '.') {
			others = append(others, line...)
		} else {
			std = append(std, line...)
		}
	}
	if len(std) > 0 && len(others) > 0 {
		std = append(std, '\n')
	}
	return slices.Concat(before, open, std, others, end, after)
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
