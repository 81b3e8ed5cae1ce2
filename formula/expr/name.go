package expr

import "strings"

// IsDimName reports whether a name may be that of a dimension: it begins with an upper-case letter, followed
// by letters, digits and underscores.
func IsDimName(s string) bool {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
