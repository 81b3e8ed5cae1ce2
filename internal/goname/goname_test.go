package goname

import (
	"go/token"
	"testing"
)

func TestNames(t *testing.T) {
	tests := []struct{ name, exported, local, pkg string }{
		{"softmax", "Softmax", "softmax", "softmax"},
		{"conv_2d", "Conv2d", "conv2d", "conv2d"},
		{"conv2d", "Conv2d", "conv2d", "conv2d"},
		{"out_channels", "OutChannels", "outChannels", "outchannels"},
		{"use_bias_1", "UseBias1", "useBias1", "usebias1"},
		{"a_1", "A1", "a1", "a1"},
		{"x", "X", "x", "x"},

		// Values of enums are in any style.
		{"EW_ADD", "EwAdd", "ewAdd", "ewadd"},
		{"RELU", "Relu", "relu", "relu"},
		{"L2", "L2", "l2", "l2"},
		{"GeLU", "GeLU", "geLU", "gelu"},
		{"mean over batch", "MeanOverBatch", "meanOverBatch", "mean over batch"},
		{"same-upper", "SameUpper", "sameUpper", "same-upper"},
		{"__x__", "X", "x", "x"},
		{"3D", "V3d", "v3d", "3d"},
		{"0", "V0", "v0", "0"},
		{"größe", "Größe", "größe", "größe"},
		{"Émile", "Émile", "émile", "émile"},
		{"ßtraße", "Vßtraße", "vßtraße", "ßtraße"}, // ß has no upper case
		{"日本", "V日本", "v日本", "日本"},
		{"e\u0301", "E", "e", "e\u0301"}, // a combining accent is no letter

		// No names at all.
		{"", "", "", ""},
		{"+", "", "", "+"},
		{"_", "", "", ""},

		// Keywords of Go.
		{"type", "Type", "type_", "typeop"},
		{"range", "Range", "range_", "rangeop"},
		{"go_to", "GoTo", "goTo", "gotoop"},
		{"Func", "Func", "func_", "funcop"},
	}
	for _, tt := range tests {
		if got := Exported(tt.name); got != tt.exported {
			t.Errorf("Exported(%q) = %q, want %q", tt.name, got, tt.exported)
		} else if got != "" && !(token.IsExported(got) && token.IsIdentifier(got)) {
			t.Errorf("Exported(%q) = %q, which is not an exported name", tt.name, got)
		}
		if got := Local(tt.name); got != tt.local {
			t.Errorf("Local(%q) = %q, want %q", tt.name, got, tt.local)
		} else if got != "" && !token.IsIdentifier(got) {
			t.Errorf("Local(%q) = %q, which is no name", tt.name, got)
		}
		if got := Package(tt.name); got != tt.pkg {
			t.Errorf("Package(%q) = %q, want %q", tt.name, got, tt.pkg)
		}
	}
}
