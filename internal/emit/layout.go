package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layout returns a file of package pkg, formatted: its package comment, its imports and its declarations. It
// imports what the declarations use of the packages in e.packages.
func (e *emitter) layout(pkg, comment, body string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(comment)
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	used := usedPackages(body, e.packages)
	var std, others []string
	for _, name := range slices.SortedFunc(maps.Keys(used), func(a, b string) int { return strings.Compare(used[a], used[b]) }) {
		spec := strconv.Quote(used[name])
		if name != path.Base(used[name]) {
			spec = name + " " + spec
		}
		if strings.Contains(used[name], ".") {
			others = append(others, spec)
		} else {
			std = append(std, spec)
		}
	}
	switch {
	case len(std)+len(others) == 1:
		b.WriteString("import " + append(std, others...)[0] + "\n\n")
	case len(std) > 0 && len(others) > 0:
		std = append(std, "")
		fallthrough
	case len(std)+len(others) > 0:
		b.WriteString("import (\n" + strings.Join(append(std, others...), "\n") + "\n)\n\n")
	}
	b.WriteString(body)
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, err
	}
	return format.Source([]byte(breakLines(string(src))))
}

// width is how many columns a line of generated code has at most, as far as Go lets it be broken.
const width = 116

// breakLines breaks lines of code that are too long, behind a comma or an operator that the fewest brackets
// enclose.
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

// breakAt returns where to break a line, 0 if it is short or cannot be broken.
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

// usedPackages returns the packages among those known, by name, that Go code uses.
func usedPackages(code string, known map[string]string) map[string]string {
	used := map[string]string{}
	var previous token.Token
	name := "" // the identifier before the current token, unless it is a field or method
	scan(code, func(_ token.Pos, tok token.Token, text string) {
		if path, ok := known[name]; ok && tok == token.PERIOD {
			used[name] = path
		}
		name = ""
		if tok == token.IDENT && previous != token.PERIOD {
			name = text
		}
		previous = tok
	})
	return used
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
