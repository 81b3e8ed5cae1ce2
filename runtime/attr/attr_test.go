package attr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestOpt(t *testing.T) {
	var none Opt[int]
	some := Some(0)
	if none.Has() || !some.Has() || none == some {
		t.Error("an absent value is the same as a present zero")
	}
	if some != Some(0) || none != (Opt[int]{}) {
		t.Error("equal values differ")
	}
	if v, ok := Some(3).Get(); v != 3 || !ok {
		t.Errorf("Get = %v, %v", v, ok)
	}
	if none.Or(7) != 7 || some.Or(7) != 0 {
		t.Errorf("Or = %v, %v", none.Or(7), some.Or(7))
	}
	if none.OrElse(func() int { return 7 }) != 7 || some.OrElse(func() int { panic("called") }) != 0 {
		t.Error("OrElse is wrong")
	}
	if none.String() != "none" || Some(1.5).String() != "1.5" {
		t.Errorf("String = %q, %q", none, Some(1.5))
	}
}

// record stands for a record attribute.
type record struct {
	Kind  string `json:"kind"`
	Scale int    `json:"scale"`
}

func TestOptJSON(t *testing.T) {
	for _, o := range []Opt[record]{{}, Some(record{}), Some(record{"a", 2})} {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		back := Some(record{"before", 1})
		if err := json.Unmarshal(data, &back); err != nil || back != o {
			t.Errorf("%s became %v, %v", data, back, err)
		}
	}
	if data, _ := json.Marshal(Opt[int]{}); string(data) != "null" {
		t.Errorf("absent is %s", data)
	}
	var o Opt[record]
	if err := json.Unmarshal([]byte(`{"kind": "a", "scal": 1}`), &o); err == nil || !strings.Contains(err.Error(), `unknown field "scal"`) {
		t.Errorf("unknown field: %v", err)
	}
	if o.Has() {
		t.Error("a failed read left a value")
	}
}

func TestList(t *testing.T) {
	var zero List[int]
	if zero.Len() != 0 || zero != ListOf[int]() || len(zero.Values()) != 0 || zero.Values() == nil {
		t.Error("the zero list is not the empty one")
	}
	in := []int{3, 1, 2}
	l := ListOf(in...)
	in[0] = 9
	if got := l.Values(); !slices.Equal(got, []int{3, 1, 2}) || l.Len() != 3 {
		t.Errorf("Values = %v, Len = %d", got, l.Len())
	}
	l.Values()[1] = 9
	if l != ListOf(3, 1, 2) {
		t.Error("a list changed")
	}
	for _, other := range []List[int]{zero, ListOf(3), ListOf(3, 1), ListOf(3, 1, 4), ListOf(3, 1, 2, 2)} {
		if l == other {
			t.Errorf("%v == %v", l, other)
		}
	}
	if counts := map[List[int]]int{ListOf(1, 2): 5}; counts[ListOf(1, 2)] != 5 || counts[ListOf(2, 1)] != 0 {
		t.Error("lists are no good as map keys")
	}
	if l.String() != "[3 1 2]" {
		t.Errorf("String = %q", l)
	}
	if ListOf(record{"a", 1}) != ListOf(record{"a", 1}) || ListOf("x") == ListOf("y") {
		t.Error("lists of other types do not compare")
	}
}

func TestListJSON(t *testing.T) {
	for _, l := range []List[record]{{}, ListOf(record{"a", 1}), ListOf(record{"a", 1}, record{"", -2})} {
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		back := ListOf(record{"before", 1})
		if err := json.Unmarshal(data, &back); err != nil || back != l {
			t.Errorf("%s became %v, %v", data, back, err)
		}
	}
	if data, _ := json.Marshal(List[int]{}); string(data) != "[]" {
		t.Errorf("the empty list is %s", data)
	}
	var l List[record]
	if err := json.Unmarshal([]byte(`[{"kind": "a", "scal": 1}]`), &l); err == nil || !strings.Contains(err.Error(), `unknown field "scal"`) {
		t.Errorf("unknown field: %v", err)
	}
}

// color is an enum, as generated.
type color uint8

var colorNames = []string{"", "RED", "GREEN"}

func (c *color) UnmarshalJSON(data []byte) error {
	n, err := UnmarshalEnum(data, int(*c), colorNames)
	*c = color(n)
	return err
}

// attrs has an attribute of every type.
type attrs struct {
	Size   int            `json:"size"`
	Rate   float64        `json:"rate"`
	Flag   bool           `json:"flag"`
	Name   string         `json:"name"`
	Color  color          `json:"color"`
	Limit  Opt[float64]   `json:"limit"`
	Dims   List[int]      `json:"dims"`
	Config Opt[record]    `json:"config"`
	Many   List[record]   `json:"many"`
	Inner  record         `json:"inner"`
	Maybe  Opt[List[int]] `json:"maybe"`
}

func defaults() attrs {
	return attrs{Size: 1, Rate: 0.5, Name: "n", Color: 2, Limit: Some(3.0), Dims: ListOf(4, 5)}
}

func TestDecode(t *testing.T) {
	with := func(change func(*attrs)) attrs {
		a := defaults()
		change(&a)
		return a
	}
	tests := []struct {
		json string
		want attrs
	}{
		{"", defaults()},
		{" \n", defaults()},
		{"{}", defaults()},
		{`{"size": 7, "rate": 2, "flag": true, "name": ""}`, with(func(a *attrs) { a.Size, a.Rate, a.Flag, a.Name = 7, 2, true, "" })},
		{`{"color": "RED", "dims": [], "inner": {"kind": "k"}}`, with(func(a *attrs) { a.Color, a.Dims, a.Inner.Kind = 1, List[int]{}, "k" })},
		{`{"config": {"scale": 2}, "many": [{}, {"kind": "z"}]}`, with(func(a *attrs) {
			a.Config, a.Many = Some(record{Scale: 2}), ListOf(record{}, record{Kind: "z"})
		})},
		{`{"maybe": [1]}`, with(func(a *attrs) { a.Maybe = Some(ListOf(1)) })},
		// Of null, an attribute keeps its default; one that may be absent is.
		{`{"size": null, "rate": null, "flag": null, "name": null, "color": null, "dims": null}`, defaults()},
		{`{"limit": null}`, with(func(a *attrs) { a.Limit = Opt[float64]{} })},
	}
	for _, tt := range tests {
		got := defaults()
		if err := Decode("op", []byte(tt.json), &got); err != nil || got != tt.want {
			t.Errorf("Decode(%s) = %+v, %v; want %+v", tt.json, got, err, tt.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ json, want string }{
		{`{"sise": 1}`, `operator op: attribute sise: want a known name (did you mean "size"?), got an unknown attribute`},
		{`{"xyzzy": 1}`, "operator op: attribute xyzzy: want one of size, rate, flag, name, color, limit, dims, config, many, inner, maybe, got an unknown attribute"},
		{`{"Size": 1}`, `operator op: attribute Size: want a known name (did you mean "size"?), got an unknown attribute`},
		{`{"zz": 1, "aa": 1}`, "operator op: attribute aa: want one of size, rate, flag, name, color, limit, dims, config, many, inner, maybe, got an unknown attribute"},
		{`{"size": 1.5}`, "operator op: attribute size: want an integer, got 1.5"},
		{`{"size": "1"}`, `operator op: attribute size: want an integer, got "1"`},
		{`{"rate": "x"}`, `operator op: attribute rate: want a number, got "x"`},
		{`{"flag": 0}`, "operator op: attribute flag: want true or false, got 0"},
		{`{"name": 3}`, "operator op: attribute name: want a string, got 3"},
		{`{"limit": "x"}`, `operator op: attribute limit: want a number, got "x"`},
		{`{"dims": 3}`, "operator op: attribute dims: want a list, got 3"},
		{`{"maybe": 3}`, "operator op: attribute maybe: want a list, got 3"},
		{`{"inner": 3}`, "operator op: attribute inner: want an object, got 3"},
		{`{"color": 1}`, "operator op: attribute color: want a name, got 1"},
		{`{"color": "GREN"}`, `operator op: attribute color: want a name, got "GREN" ("GREN" is not one of RED, GREEN (did you mean "GREEN"?))`},
		{`{"config": {"scal": 1}}`, `operator op: attribute config: want an object, got {"scal": 1} (unknown field "scal")`},
		{`{"many": [{"scal": 1}]}`, `operator op: attribute many: want a list, got [{"scal": 1}] (unknown field "scal")`},
		{`[1]`, "operator op: want a JSON object of attributes, got json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		{`{"size": 1`, "operator op: want a JSON object of attributes, got unexpected end of JSON input"},
	}
	for _, tt := range tests {
		a := defaults()
		err := Decode("op", []byte(tt.json), &a)
		var e *Error
		if !errors.As(err, &e) || err.Error() != tt.want {
			t.Errorf("Decode(%s):\n got %v\nwant %s", tt.json, err, tt.want)
		}
	}
	var none struct{}
	if err := Decode("op", []byte(`{"x": 1}`), &none); err == nil || err.Error() != "operator op: attribute x: want no attributes, got an unknown attribute" {
		t.Errorf("without attributes: %v", err)
	}
}

func TestDecodeRequired(t *testing.T) {
	for _, data := range []string{"", "{}", `{"rate": 1}`, `{"size": null}`} {
		a := defaults()
		err := Decode("op", []byte(data), &a, "size")
		if want := "operator op: attribute size: want a value, got none"; err == nil || err.Error() != want {
			t.Errorf("Decode(%s) = %v, want %s", data, err, want)
		}
	}
	a := defaults()
	if err := Decode("op", []byte(`{"size": 0}`), &a, "size"); err != nil || a.Size != 0 {
		t.Errorf("size 0: %v, %v", a.Size, err)
	}
}

// made is a record as generated code has it.
type made struct {
	Kind  string         `json:"kind"`
	Scale float64        `json:"scale"`
	Dims  Opt[List[int]] `json:"dims"`
	made  bool
}

func (v *made) UnmarshalJSON(data []byte) error {
	type fields made
	return DecodeRecord(data, (*fields)(v), fields(made{Scale: 0.5, made: true}), "kind")
}

func TestDecodeRecord(t *testing.T) {
	for data, want := range map[string]made{
		`{"kind": "a"}`: {Kind: "a", Scale: 0.5, made: true},
		`{"kind": "b", "scale": null, "dims": [1, 2]}`: {Kind: "b", Scale: 0.5, Dims: Some(ListOf(1, 2)), made: true},
		`{"kind": "", "scale": "inf", "dims": []}`:     {Scale: math.Inf(1), Dims: Some(List[int]{}), made: true},
		"null": {Kind: "before"},
		`{"kind": "c", "scale": 0, "dims": null}`:         {Kind: "c", made: true},
		`{"dims": [3], "kind": "d", "scale": -1.5e300  }`: {Kind: "d", Scale: -1.5e300, Dims: Some(ListOf(3)), made: true},
	} {
		got := made{Kind: "before"}
		if err := unmarshal([]byte(data), &got); err != nil || got != want {
			t.Errorf("%s gives %+v, %v, want %+v", data, got, err, want)
		}
		text, err := Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back made
		if err := unmarshal(text, &back); err != nil || want.made && back != got {
			t.Errorf("%s gives %+v, %v, want %+v", text, back, err, got)
		}
	}
	if got := FormatRecord(made{Kind: "a", Scale: 2, Dims: Some(ListOf(1)), made: true}); got != "{a 2 [1]}" {
		t.Errorf("a record is %s", got)
	}
	for data, want := range map[string]string{
		`{}`:                          "field kind is missing",
		`{"kind": null}`:              "field kind is missing",
		`{"kind": "a", "scal": 1}`:    `unknown field "scal"`,
		`{"kind": "a", "scale": "x"}`: "json: cannot unmarshal string into Go value of type float64",
		`[]`:                          "json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
	} {
		got := made{Kind: "before"}
		if err := unmarshal([]byte(data), &got); err == nil || err.Error() != want || got.Kind != "before" {
			t.Errorf("%s gives %+v, %v, want %s", data, got, err, want)
		}
	}
}

func TestEnum(t *testing.T) {
	for v, want := range map[int]string{0: "none", 1: "RED", 2: "GREEN", 3: "none", -1: "none"} {
		if got := EnumString(v, colorNames); got != want {
			t.Errorf("EnumString(%d) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[int]string{0: "null", 1: `"RED"`, 2: `"GREEN"`} {
		data, err := MarshalEnum(v, colorNames)
		if err != nil || string(data) != want {
			t.Errorf("MarshalEnum(%d) = %s, %v", v, data, err)
		}
		if back, err := UnmarshalEnum(data, v, colorNames); err != nil || back != v {
			t.Errorf("UnmarshalEnum(%s) = %d, %v", data, back, err)
		}
	}
	if _, err := MarshalEnum(3, colorNames); err == nil || err.Error() != "there is no value 3 among RED, GREEN" {
		t.Errorf("MarshalEnum(3): %v", err)
	}
	if v, err := UnmarshalEnum([]byte(`""`), 2, colorNames); err == nil || v != 2 {
		t.Errorf("the empty name gives %d, %v", v, err)
	}
}

func TestChecks(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{CheckEnum("op", "color", 1, colorNames, false), ""},
		{CheckEnum("op", "color", 0, colorNames, true), ""},
		{CheckEnum("op", "color", 0, colorNames, false), "operator op: attribute color: want one of RED, GREEN, got none"},
		{CheckEnum("op", "color", 3, colorNames, true), "operator op: attribute color: want one of RED, GREEN, got 3"},
		{CheckEnum("op", "color", -1, colorNames, true), "operator op: attribute color: want one of RED, GREEN, got -1"},
		{CheckMadeBy("op", "part", "NewPart", true), ""},
		{CheckMadeBy("op", "part", "NewPart", false), "operator op: attribute part: want a value made by NewPart, got a literal"},
		{CheckMin("op", "size", 2, 2), ""},
		{CheckMin("op", "size", 1, 2), "operator op: attribute size: want at least 2, got 1"},
		{CheckMax("op", "rate", 0.5, 0.5), ""},
		{CheckMax("op", "rate", 0.6, 0.5), "operator op: attribute rate: want at most 0.5, got 0.6"},
	}
	for i, tt := range tests {
		if got := fmt.Sprint(tt.err); tt.err == nil && tt.want != "" || tt.err != nil && got != tt.want {
			t.Errorf("%d: got %v, want %q", i, tt.err, tt.want)
		}
	}
}

// TestLackingNumbers writes and reads numbers that JSON lacks, in attributes and in plain values.
func TestLackingNumbers(t *testing.T) {
	type part struct {
		Fill  float64               `json:"fill"`
		Maybe Opt[float64]          `json:"maybe"`
		Many  List[float64]         `json:"many"`
		Inner struct{ Low float32 } `json:"inner"`
	}
	x := part{Fill: math.Inf(-1), Maybe: Some(math.Inf(1)), Many: ListOf(1, math.Inf(-1))}
	x.Inner.Low = float32(math.Inf(1))
	data, err := Marshal(x)
	if want := `{"fill":"-inf","maybe":"inf","many":[1,"-inf"],"inner":{"Low":"inf"}}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	var y part
	if err := unmarshal(data, &y); err != nil || x != y {
		t.Errorf("read %+v, %v, want %+v", y, err, x)
	}
	if err := Decode("op", []byte(`{"fill": "nan"}`), &y); err != nil || y.Fill == y.Fill {
		t.Errorf("read %v, %v, want NaN", y.Fill, err)
	}
	if err := Decode("op", []byte(`{"fill": "large"}`), &y); err == nil || err.Error() != `operator op: attribute fill: want a number, got "large"` {
		t.Errorf("got %v", err)
	}
	fields, err := Object(x)
	if f, ok := fields["fill"].(json.Number); err != nil || !ok || f != "-inf" {
		t.Errorf("got %v, %v", fields, err)
	}

	type kind uint8
	type plain struct {
		Hidden  float64 `json:"-"`
		Numbers []float64
		Kind    kind
		Name    string `json:"name,omitempty"`
		None    []int
		Bytes   []byte
		Array   [2]float32
	}
	p := []plain{{Hidden: math.Inf(1), Numbers: []float64{1, math.Inf(-1)}, Kind: 3, Bytes: []byte{1, 2}, Array: [2]float32{0.1, 2}}}
	data, err = MarshalPlain(p)
	if want := `[{"Hidden":"inf","Numbers":[1,"-inf"],"Kind":3,"Name":"","None":null,"Bytes":[1,2],"Array":[0.1,2]}]`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	var q []plain
	if err := UnmarshalPlain(data, &q); err != nil || !reflect.DeepEqual(p, q) {
		t.Errorf("read %+v, %v, want %+v", q, err, p)
	}
}

// TestArrayLengths reads arrays from lists of other lengths.
func TestArrayLengths(t *testing.T) {
	for text, want := range map[string]string{"[1, 2]": "", "[1]": "want 2 values, got 1", "[1, 2, 3]": "want 2 values, got 3"} {
		var pair [2]int
		got := ""
		if err := UnmarshalPlain([]byte(text), &pair); err != nil {
			got = err.Error()
		}
		if got != want || want == "" && pair != [2]int{1, 2} {
			t.Errorf("%s: got %v and the error %q, want %q", text, pair, got, want)
		}
	}
}
