package expr

import "strings"

// IsDimName reports whether a name has the form of a dimension's: letters, digits and underscores behind an
// upper-case letter.
func IsDimName(s string) bool {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
