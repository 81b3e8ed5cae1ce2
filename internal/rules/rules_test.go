package rules

import (
	"strings"
	"testing"
)

func TestSplitMessage(t *testing.T) {
	tests := []struct {
		message, format, names string
		ok                     bool
	}{
		{"nothing to fill in", "nothing to fill in", "", true},
		{"{K} of {N}", "%v of %v", "K N", true},
		{"100 % of {K}%", "100 %% of %v%%", "K", true},
		{"a } alone", "a } alone", "", true},
		{"{}", "%v", "", true},
		{"{K", "", "", false},
		{"{K} and {", "%v and ", "K", false},
	}
	for _, tt := range tests {
		format, names, ok := SplitMessage(tt.message)
		if format != tt.format || strings.Join(names, " ") != tt.names || ok != tt.ok {
			t.Errorf("SplitMessage(%q) = %q, %q, %v; want %q, %q, %v", tt.message, format, names, ok, tt.format, tt.names, tt.ok)
		}
	}
}
