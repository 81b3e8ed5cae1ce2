// Package goname turns names of specs into names of Go.
package goname

import (
	"go/token"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/module"
)

// Package returns the name of the package of an operator: conv_2d becomes conv2d. A Go keyword, which
// no package can have as its name, gets a suffix: range becomes rangeop.
func Package(name string) string {
	s := strings.ReplaceAll(strings.ToLower(name), "_", "")
	if token.IsKeyword(s) {
		s += "op"
	}
	return s
}

// reserved cannot be packages of operators. Opgen generates the first. Go restricts imports of the next ones,
// and the go command leaves out what is in the last two.
var reserved = []string{"catalogue", "main", "init", "internal", "vendor", "testdata", "documentation"}

// Reserved reports whether no operator can have a package of a name: where opgen or Go gives it a meaning,
// and where Windows, which has no files of the name, does.
func Reserved(pkg string) bool {
	return slices.Contains(reserved, pkg) || module.CheckImportPath("m/"+pkg) != nil
}

// Exported returns the exported Go name of a name in any style: out_channels becomes OutChannels,
// EW_ADD becomes EwAdd, "mean over batch" becomes MeanOverBatch, L2 stays L2. It returns "" if the
// name holds no letter or digit, and prefixes V if it begins with a digit, or with a letter that has
// no upper case.
func Exported(name string) string {
	var b strings.Builder
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		r := []rune(w)
		rest := string(r[1:])
		if rest == strings.ToUpper(rest) {
			rest = strings.ToLower(rest)
		}
		b.WriteRune(unicode.ToUpper(r[0]))
		b.WriteString(rest)
	}
	s := b.String()
	if s != "" && !token.IsExported(s) {
		s = "V" + s
	}
	return s
}

// Local returns a name for a local variable or parameter: out_channels becomes outChannels. A Go
// keyword gets an underscore.
func Local(name string) string {
	s := Exported(name)
	if s == "" {
		return s
	}
	r := []rune(s)
	r[0] = unicode.ToLower(r[0])
	s = string(r)
	if token.IsKeyword(s) {
		s += "_"
	}
	return s
}
