package shape

import "strings"

// Index returns the index of the element with the row-major number i, in a tensor of the given shape, which
// has elements.
func Index(i int, s []int) []int {
	at := make([]int, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		at[d] = i % s[d]
		i /= s[d]
	}
	return at
}

// Elements returns the elements of a shape as a spec writes it: of [A..., R, min(K, N)], these are A..., R
// and min(K, N).
func Elements(text string) []string {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	var out []string
	depth, begin := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) {
			switch text[i] {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			}
			if text[i] != ',' || depth > 0 {
				continue
			}
		}
		if e := strings.TrimSpace(text[begin:i]); e != "" {
			out = append(out, e)
		}
		begin = i + 1
	}
	return out
}
