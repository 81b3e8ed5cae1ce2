package attr_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestNumber checks that integers and real numbers pass JSON, and stay what they are.
func TestNumber(t *testing.T) {
	for text, n := range map[string]attr.Number{
		"0": {}, "-7": attr.Int(-7), "9223372036854775807": attr.Int(math.MaxInt64), "2.0": attr.Real(2.0), "0.1": attr.Real(0.1),
		"1e+300": attr.Real(1e300), `"inf"`: attr.Real(math.Inf(1)), `"-inf"`: attr.Real(math.Inf(-1)),
	} {
		data, err := attr.Marshal(n)
		if err != nil || string(data) != text {
			t.Errorf("want %s, got %s, %v", text, data, err)
		}
		var back attr.Number
		if err := json.Unmarshal(data, &back); err != nil || back != n {
			t.Errorf("%s: got %v, %v", text, back, err)
		}
		_, isInt := n.Int()
		if want := map[bool]dtype.Type{true: dtype.I64, false: dtype.F32}[isInt]; n.Type() != want {
			t.Errorf("%s: want the type %v, got %v", text, want, n.Type())
		}
	}
	if attr.Int(2) == attr.Real(2.0) {
		t.Error("want different numbers")
	}
	for _, bad := range []string{`"a"`, `"2"`, "true", "{}", "null", "9223372036854775808", "1e999"} {
		var n attr.Number
		if err := n.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s: want an error, got %v", bad, n)
		}
	}
}
