package attr

import (
	"reflect"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// fuzzed has attributes of each kind of type.
type fuzzed struct {
	Count  int           `json:"count"`
	Rate   float64       `json:"rate"`
	On     bool          `json:"on"`
	Name   string        `json:"name"`
	Type   dtype.Type    `json:"type"`
	Axes   List[int]     `json:"axes"`
	Rates  List[float64] `json:"rates"`
	Seed   Opt[int]      `json:"seed"`
	Scale  Opt[float64]  `json:"scale"`
	Nested struct {
		Low, High Opt[float64]
	} `json:"nested"`
}

// FuzzDecode reads anything as attributes. What can be read is the same after being written and read again.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"count": 1}`, `{"count": 1, "rate": -0.0, "on": true, "name": "\u0000", "type": "f32", "axes": [1, -2], "rates": [1e308], "seed": null, "scale": 0.5}`,
		`{"rates": ["NaN", "Infinity", "-Infinity"], "nested": {"Low": 1}}`, `{"count": 1e400}`, `{"count": 9223372036854775808}`, `{"axes": null}`,
		`[]`, `null`, `{"count": 1} {}`, `{"count": 1, "count": 2}`, `{"COUNT": 1}`, `{"axes": [[[[]]]]}`, "{\"name\": \"\xff\"}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first fuzzed
		if err := Decode("fuzzed", data, &first, "count"); err != nil {
			return
		}
		written, err := Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		var second fuzzed
		if err := Decode("fuzzed", written, &second, "count"); err != nil {
			t.Fatalf("%s was written as %s: %v", data, written, err)
		}
		again, err := Marshal(second)
		if err != nil || string(written) != string(again) {
			t.Errorf("%s became %s: %v", written, again, err)
		}
		if !reflect.DeepEqual(first, second) && string(written) != string(again) {
			t.Errorf("%+v became %+v", first, second)
		}
	})
}
