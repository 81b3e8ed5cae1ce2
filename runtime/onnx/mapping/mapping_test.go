package mapping

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func Example() {
	x, err := Parse("or(perm, reversed(range(rank(input))))")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := x.Eval(func(string) any { return nil }, func(function, name string) (any, error) { return 3, nil })
	fmt.Println(x.Names(), v, err)
	// Output: [perm input] [2 1 0] <nil>
}

// eval evaluates an expression where a is 7, b is [1 2 3], f is 0.5, s is "same" and x has the shape [2 1 5].
func eval(text string) (any, error) {
	x, err := Parse(text)
	if err != nil {
		return nil, err
	}
	values := map[string]any{"a": 7, "b": []int{1, 2, 3}, "f": 0.5, "s": "same"}
	return x.Eval(func(name string) any { return values[name] }, func(function, name string) (any, error) {
		switch {
		case name != "x":
			return nil, fmt.Errorf("no tensor %s", name)
		case function == "shape":
			return []int{2, 1, 5}, nil
		case function == "rank":
			return 3, nil
		case function == "type":
			return "f32", nil
		}
		return true, nil
	})
}

func TestEval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"a + 2 * 3": 13, "(a - 9) / 2": -1, "(a - 9) % 4": 2, "-a": -7, "1e-2": 0.01, "f * 4": 2.0, "1.0 / 4": 0.25,
		"a > 3 && !(a == 8) || false": true, "a > 3 ? 'big' : 'small'": "big", "s in ['same', 'other']": true, "none": nil,
		"b[0]": 1, "b[-1]": 3, "b[1:]": []int{2, 3}, "b[:-1]": []int{1, 2}, "b[5:]": []int{}, "b + 1": []int{2, 3, 4}, "b * b": []int{1, 4, 9},
		"shape(x)[0]": 2, "rank(x)": 3, "type(x) == 'f32'": true, "present(x) && known(x)": true, "has(c)": false, "or(c, 4)": 4, "or(a, 4)": 7,
		"len(b)": 3, "sum(b)": 6, "prod(b)": 6, "prod([])": 1, "min(b)": 1, "max(a, 9, f)": 9, "range(3)": []int{0, 1, 2}, "fill(2, f)": []float64{0.5, 0.5},
		"join(b, 4, [5])": []int{1, 2, 3, 4, 5}, "reversed(b)": []int{3, 2, 1}, "strides([2, 3, 4])": []int{12, 4, 1}, "sqrt(9)": 3.0, "sorted([3, 1])": []int{1, 3}, "axes([-1, 0], 3)": []int{2, 0},
		"without(b, [2])": []int{1, 3}, "at(b, [2, 0])": []int{3, 1}, "put(b, [1], [9])": []int{1, 9, 3}, "float(a)": 7.0, "int(3.7)": 3, "floor(-0.5)": -1,
		"all(b)": true, "any([0, 0])": false, "where(shape(x), 1)": []int{1}, "unless(shape(x), 1)": []int{0, 2},
		"reshaped([2, 3, 4], [0, -1], false)": []int{2, 12}, "reshaped([0, 3], [3, 0], true)": []int{3, 0}, "element_type(7)": "i64",
		"slices(5, 1, 100, 2)": []int{1, 2, 2}, "slices(5, -1, -100, -2)": []int{4, -2, 3}, "slices(5, 3, 1, 1)": []int{0, 1, 0},
		"slices(1, -2, -100, -2)": []int{0, -2, 1}, "slices(0, -1, -100, -1)": []int{0, -1, 0}, "atleast([-3, 2], 0)": []int{0, 2},
		"broadcast([2, 1, 4], [3, 1])":                                   []int{2, 3, 4},
		"window_pads([5], [3], [2], [1], none, 'SAME_UPPER', false)":     []int{1, 1},
		"window_pads([4], [3], [2], [1], none, 'SAME_LOWER', false)":     []int{1, 0},
		"window_pads([4], [3], [2], [1], [0, 0], none, true)":            []int{0, 1},
		"window_pads([7], [3], [1], [2], [1, 2], none, false)":           []int{1, 2},
		"window_pads([5, 5], [3, 3], [1, 1], [1, 1], none, none, false)": []int{0, 0, 0, 0},
	} {
		if got, err := eval(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, %v, want %#v", text, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 +": "want a value, got the end", "1 2": "want an operator, got 2", "(1": "want ), got the end", "foo(1)": "want a function, got foo",
		"prod(1, 2)": "want 1 arguments of prod, got 2", "shape(1 + 2)": "want the name of an input or output", "'a": "want a quote behind", "?": "want a value, got ?",
		strings.Repeat("(", 60) + "1": "fewer brackets", "1 / 0": "want a divisor other than 0", "b[3]": "want an index of [1 2 3], got 3",
		"c + 1": "want a number, got nothing", "fill(-1, 0)": "want a list of at most", "shape(y)": "no tensor y", "'a' + 1": "want a number, got a",
		"axes([3], 3)": "want an axis between -3 and 2, got 3", "element_type(8)": "want the number of an element type", "slices(3, 0, 1, 0)": "want a step other than 0",
		"broadcast([2], [3])": "want shapes of which one is repeated", "[1, 2] + [1, 2, 3]": "want lists of one length", "put(b, [7], [1])": "want a place in", "min([])": "at least one number",
		"f ? 1 : 2": "want true or false", "[s, 1]": "want a number, got same", "reshaped([2], [1, 0], false)": "want an extent that 0 keeps",
		"window_pads([4], [3], [0], [1], none, 'SAME_UPPER', false)": "want strides and dilations of at least 1, got [0] and [1]",
		"window_pads([4], [3], [1], [0], none, none, false)":         "want strides and dilations of at least 1, got [1] and [0]",
		"window_pads([4], [3], [1], [1], [1], none, false)":          "want 2 pads, got [1]",
		"window_pads([4], [3], [1], [1], [1, 1, 1], none, false)":    "want 2 pads, got [1 1 1]",
		"window_pads([4], [3], [1], [1], none, 'SAME', false)":       "want auto_pad to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got SAME",
	} {
		if got, err := eval(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestEntry(t *testing.T) {
	t.Parallel()
	e := Entry{Op: "A", Since: 3, Until: 5, When: "w > 0", Times: "n", Let: []Attr{{"l", "m"}}, Attrs: []Attr{{"a", "or(l, 1)"}}, Inputs: []Operand{{Slot: "x", Shape: "shape(x)", Type: "t", Permute: "p"}}}
	if names, err := e.Reads(); err != nil || strings.Join(names, " ") != "l m n p t w x" {
		t.Errorf("got %q, %v", names, err)
	}
	for version, want := range map[int]bool{2: false, 3: true, 5: true, 6: false} {
		if e.Applies("", "A", version) != want || e.Applies("d", "A", version) || e.Applies("", "B", version) {
			t.Errorf("version %d: want %v", version, want)
		}
	}
	e.Attrs[0].Value = "("
	if _, err := e.Reads(); err == nil || !strings.Contains(err.Error(), "a: expression (: want a value") {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("or(axes, range(rank(x)))[1:-1] + 2")
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := Parse(text); err == nil {
			_, _ = x.Eval(func(string) any { return []int{1, 2} }, func(string, string) (any, error) { return 1, nil })
		}
	})
}
