package main

import (
	"fmt"
	"regexp"
	"strings"
)

// schema is a signature of PyTorch.
type schema struct {
	name            string // with the namespace and the overload: aten::add.Tensor
	params, results []param
	text            string
}

// param is an argument or a result.
type param struct {
	name, kind string // the kind without what it says about aliases: Tensor, int[], Scalar?
	value      string // of an argument: its default, or ""
	changed    bool   // whether the tensor is written
}

var (
	signature = regexp.MustCompile(`^([\w:.]+)\((.*)\) -> (.*)$`)
	aliases   = regexp.MustCompile(`\(\w*(!?)[^(),]*\)`) // of Tensor(a), Tensor(a!), Tensor(a -> *), Tensor(b|a)
	extents   = regexp.MustCompile(`\[\d+\]`)
)

// parse reads a signature as PyTorch prints it.
func parse(line string) (*schema, error) {
	m := signature.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("want a signature such as aten::abs(Tensor self) -> Tensor, got %q", line)
	}
	s := &schema{name: m[1], text: line}
	for _, p := range parts(m[2]) {
		if p == "*" {
			continue
		}
		s.params = append(s.params, read(p))
	}
	results := m[3]
	if strings.HasPrefix(results, "(") && strings.HasSuffix(results, ")") {
		results = results[1 : len(results)-1]
	}
	for _, p := range parts(results) {
		s.results = append(s.results, read(p))
	}
	return s, nil
}

// read reads an argument or a result.
func read(text string) param {
	p := param{}
	text, p.value, _ = strings.Cut(text, "=")
	for _, m := range aliases.FindAllStringSubmatch(text, -1) {
		p.changed = p.changed || m[1] != ""
	}
	if !strings.HasPrefix(text, "Dict(") && !strings.HasPrefix(text, "Future(") && !strings.HasPrefix(text, "(") {
		text = aliases.ReplaceAllString(text, "")
	}
	if i := strings.LastIndex(text, " "); i >= 0 && !strings.HasSuffix(text, ")") {
		text, p.name = text[:i], text[i+1:]
	}
	p.kind = extents.ReplaceAllString(text, "[]")
	return p
}

// parts splits a list at the commas outside of parentheses, brackets and quotes.
func parts(text string) (list []string) {
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			list, from = append(list, strings.TrimSpace(text[from:i])), i+1
		}
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}
