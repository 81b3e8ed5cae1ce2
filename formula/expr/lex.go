package expr

import (
	"strings"
	"unicode/utf8"
)

type tokKind uint8

const (
	tokEOF tokKind = iota
	tokInt
	tokFloat
	tokString
	tokName
	tokOp
	tokBad
)

type token struct {
	kind     tokKind
	pos, end int
	text     string
}

type parser struct {
	text    string
	tok     token
	at      int
	depth   int
	formula bool // whether the text is part of a formula
}

var operators = []string{"==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "?", ":", "(", ")", "[", "]", ",", "."}

// formulaOperators are the operators that only formulas have. The lexer tries them first, since "." is a
// prefix of "..".
var formulaOperators = []string{"..", "^", "#"}

func (p *parser) next() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
	start := p.at
	set := func(k tokKind) { p.tok = token{k, start, p.at, p.text[start:p.at]} }
	if p.at >= len(p.text) {
		set(tokEOF)
		return
	}
	c := p.text[p.at]
	switch {
	case isDigit(c):
		kind := tokInt
		for p.at < len(p.text) && isDigit(p.text[p.at]) {
			p.at++
		}
		if p.at+1 < len(p.text) && p.text[p.at] == '.' && isDigit(p.text[p.at+1]) {
			kind = tokFloat
			for p.at++; p.at < len(p.text) && isDigit(p.text[p.at]); p.at++ {
			}
		}
		if rest := p.text[p.at:]; len(rest) > 1 && (rest[0] == 'e' || rest[0] == 'E') {
			n := 1
			if rest[1] == '-' || rest[1] == '+' {
				n++
			}
			if n < len(rest) && isDigit(rest[n]) {
				kind = tokFloat
				for p.at += n; p.at < len(p.text) && isDigit(p.text[p.at]); p.at++ {
				}
			}
		}
		set(kind)
	case isLetter(c):
		for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at])) {
			p.at++
		}
		for p.formula && p.at < len(p.text) && p.text[p.at] == '\'' { // k' is a second index over the dimension of k
			p.at++
		}
		set(tokName)
	case c == '\'':
		end := strings.IndexByte(p.text[p.at+1:], '\'')
		if end < 0 {
			p.at = len(p.text)
			set(tokBad)
			return
		}
		p.at += end + 2
		set(tokString)
	default:
		if p.formula && p.operator(formulaOperators) || p.operator(operators) || p.formula && p.operator([]string{"="}) {
			set(tokOp)
			return
		}
		_, n := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += n
		set(tokBad)
	}
}

// operator consumes the next token if it is one of the operators, and reports whether it did.
func (p *parser) operator(operators []string) bool {
	for _, op := range operators {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
