package expr

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opgen/opgen/formula/reduction"
)

// habits maps tokens of other languages and of mathematics to hints on the syntax of formulas. A hint applies
// if the unexpected input begins with text. Longer texts precede their prefixes.
var habits = []struct{ text, hint string }{
	{"**", "a power is written x ^ y"},
	{":=", "a statement gives its value by ="},
	{"+=", "each element is given once: write the whole sum on the right"},
	{"-=", "each element is given once: write the whole difference on the right"},
	{"*=", "each element is given once: write the whole product on the right"},
	{"/=", "each element is given once: write the whole quotient on the right; != compares"},
	{"===", "== compares"},
	{"=", "== compares"},
	{"<>", "!= compares"},
	{"&", "write && for and"},
	{"|", "write || for or; abs(x) is an absolute value"},
	{"~", "write ! for not"},
	{";", "each statement is a line of its own"},
	{"{", "expressions are grouped by parentheses"},
	{"\"", "texts are in single quotes"},
	{"\\", "a line that begins with a space continues the one before"},
	{"@", "a product of matrices is sum(k: a[i, k] * b[k, j])"},
	{"−", "write the minus sign of the keyboard: -"},
	{"–", "write the minus sign of the keyboard: -"},
	{"—", "write the minus sign of the keyboard: -"},
	{"×", "write * for a product"},
	{"·", "write * for a product"},
	{"⋅", "write * for a product"},
	{"∗", "write * for a product"},
	{"÷", "write / for a quotient"},
	{"≤", "write <="},
	{"≥", "write >="},
	{"≠", "write !="},
	{"²", "write ^ 2"},
	{"³", "write ^ 3"},
	{"√", "write sqrt(x)"},
	{"∑", "write sum(k: ...)"},
	{"Σ", "write sum(k: ...)"},
	{"∏", "write prod(k: ...)"},
	{"π", "write pi"},
	{"∞", "write inf for infinity"},
	{"’", "write the quote of the keyboard: '"},
	{"‘", "write the quote of the keyboard: '"},
	{"′", "write the quote of the keyboard: '"},
}

// habitWords maps words of other languages to hints.
var habitWords = map[string]string{
	"and": "write && for and", "or": "write || for or", "not": "write ! for not",
	"if": "a condition is written c ? x : y", "then": "a condition is written c ? x : y", "else": "else stands behind an element that may lie outside: x[i] else 0",
	"elif": "a condition is written c ? x : y", "lambda": "a function is a line of its own: f(x) = ...", "return": "a statement is written output[i] = ...",
	"let": "a statement is written output[i] = ...", "var": "a statement is written output[i] = ...", "const": "a statement is written output[i] = ...",
	"func": "a function is a line of its own: f(x) = ...", "fn": "a function is a line of its own: f(x) = ...", "function": "a function is a line of its own: f(x) = ...", "def": "a function is a line of its own: f(x) = ...",
	"mod": "a remainder is written a % b", "div": "integers are divided by quotient(a, b)",
}

// habit returns a hint for the unexpected input at text[at:], or "" if there is none.
func habit(text string, at int) string {
	rest := text[at:]
	if strings.HasPrefix(rest, "=") && openReduction(text[:at]) {
		return "a range is written k in 0 .. K, or k < K"
	}
	for _, h := range habits {
		// The lexer may have consumed the first character of a two-character operator.
		if strings.HasPrefix(rest, h.text) || at > 0 && len(h.text) > 1 && h.text[0] < utf8.RuneSelf && strings.HasPrefix(text[at-1:], h.text) {
			return h.hint
		}
	}
	word := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }); i >= 0 {
		word = rest[:i]
	}
	if h := habitWords[word]; h != "" {
		return h
	}
	r, _ := utf8.DecodeRuneInString(rest)
	before := strings.TrimRight(text[:at], " \t")
	last := byte(0)
	if before != "" {
		last = before[len(before)-1]
	}
	switch {
	case habitWords[lastWord(before)] != "" && strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) == lastWord(before):
		return habitWords[lastWord(before)] // a line that begins with a keyword
	case r >= utf8.RuneSelf && unicode.IsLetter(r):
		return "names consist of the letters a to z, digits and _, such as beta"
	case r == '.' && len(rest) > 1 && isDigit(rest[1]):
		return "numbers begin with a digit: 0" + number(rest)
	case r == '.' && isDigit(last):
		return "digits follow the point: " + string(last) + ".0"
	case word != "" && (isDigit(last) || last == ')' || last == ']'):
		return "write * between the factors of a product"
	case r == '(' && (isDigit(last) || last == ')' || last == ']'):
		return "write * between the factors of a product"
	}
	return ""
}

// lastWord returns the longest suffix of letters of a text.
func lastWord(text string) string {
	return text[len(strings.TrimRightFunc(text, unicode.IsLetter)):]
}

// openReduction reports whether text ends with the beginning of a reduction: "sum(k" for any reduction and
// index.
func openReduction(text string) bool {
	text = strings.TrimRight(text, " \t")
	text = strings.TrimRightFunc(text, func(r rune) bool { return r == '_' || r == '\'' || unicode.IsLetter(r) || unicode.IsDigit(r) })
	return slices.ContainsFunc(reduction.Names, func(kind string) bool { return strings.HasSuffix(text, kind+"(") })
}

// number returns the decimal point and the digits at the beginning of a text.
func number(text string) string {
	n := 1
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return text[:n]
}
