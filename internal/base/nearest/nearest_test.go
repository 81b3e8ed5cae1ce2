package nearest

import "testing"

func TestName(t *testing.T) {
	tests := []struct {
		name       string
		candidates []string
		want       string
	}{
		{"shpae", []string{"role", "shape", "type"}, "shape"},
		{"rol", []string{"role", "type"}, "role"},
		{"permision", []string{"permission"}, "permission"},
		{"xyz", []string{"role", "type"}, ""},
		{"ab", []string{"cd"}, ""},
		{"tahn", []string{"tan", "tanh", "atan"}, "tanh"}, // as many letters
		{"", []string{"a"}, ""},
		{"same", []string{"same"}, ""},
		{"foo", []string{"fox", "fob"}, "fox"},
		{"t", []string{"T"}, "T"},
		{"Relu", []string{"RELOU", "RELU"}, "RELU"},
	}
	for _, tt := range tests {
		if got := Name(tt.name, tt.candidates); got != tt.want {
			t.Errorf("Name(%q, %q) = %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
}
