// Package english builds the small parts of messages: articles, counts and plurals.
package english

import (
	"fmt"
	"strings"
)

// Article returns a noun with its indefinite article. A noun that begins with u takes "a", as "a uniform" and
// "a u8" do.
func Article(noun string) string {
	if noun != "" && strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Count returns a number with its noun: "1 file", "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, Plural(noun))
}

// Plural returns the plural of a noun that has a regular one: files, losses.
func Plural(noun string) string {
	for _, end := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}
