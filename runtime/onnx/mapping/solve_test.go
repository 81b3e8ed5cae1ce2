package mapping

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func ExampleSearch() {
	s := &Search{Let: []Attr{{Name: "along", Value: "or(axes, [0])"}},
		About:  func(string, string) (any, error) { return 3, nil },
		Accept: func(found map[string]any) bool { fmt.Println(found); return true },
	}
	fmt.Println(s.Solve([]Goal{{Text: "or(keepdims, 1) == 1", Want: false}, {Text: "along", Want: []int{2}}}))
	// Output:
	// map[axes:[2] keepdims:0]
	// true <nil>
}

// TestSolve reads expressions from right to left. Names are those of no tensor, so that shape(x) is [2 1 5].
func TestSolve(t *testing.T) {
	t.Parallel()
	type found = map[string]any
	for text, c := range map[string]struct{ want, found any }{
		"a":                     {7, found{"a": 7}},
		"or(a, 7)":              {7, found{"a": nil}},
		"or(a, 7) ":             {8, found{"a": 8}},
		"or(a, 0.1)":            {float64(float32(0.1)), found{"a": nil}},
		"or(a, 1) == 1":         {true, found{"a": nil}},
		"or(a, 1) == 1 ":        {false, found{"a": 0}},
		"or(a, 0) != 0":         {true, found{"a": 1}},
		"or(a, 's') == 't'":     {false, found{}},
		"!has(a)":               {true, found{"a": nil}},
		"has(a) || b == 2":      {false, found{"a": nil}},
		"a == 1 && b in [4, 5]": {true, found{"a": 1, "b": 4}},
		"a + 2":                 {7, found{"a": 5}},
		"9 - a":                 {7, found{"a": 2}},
		"a - 2":                 {7, found{"a": 9}},
		"[a, 3]":                {[]int{1, 3}, found{"a": 1}},
		"[a, 3] ":               {[]int{1, 4}, nil},
		"range(3)[a:]":          {[]int{1, 2}, found{"a": -2}},
		"range(3)[a:] ":         {[]int{0, 1}, nil},
		"float(a)":              {2.0, found{"a": 2.0}},
		"sorted(axes(a, 3))":    {[]int{0, 2}, found{"a": []int{0, 2}}},
		"element_type(a)":       {"i64", found{"a": 7}},
		"element_type(a) ":      {"i65", nil},
		"a == 's' ? 'X' : 'Y'":  {"X", found{"a": "s"}},
		"a == 's' ? 'X' : 'Y' ": {"Y", found{}},
		"or(a, 's') == 's' ? 'X' : a == 't' ? 'Y' : 'Z'": {"Y", found{"a": "t"}},
		"len(or(a, [])) > 0 ? a : [0]":                   {[]int{4}, found{"a": []int{4}}},
		"len(or(a, [])) > 0 ? a : [0] ":                  {[]int{0}, found{"a": []int{0}}},
		"let":                                            {3, found{"a": 3}},
		"k + 1":                                          {5, found{}},
		"k + 1 ":                                         {6, nil},
		"shape(x)[2]":                                    {5, found{}},
		"a ":                                             {nil, found{"a": nil}},
		"prod(a)":                                        {6, nil},
	} {
		var got any
		s := &Search{Known: map[string]any{"k": 4}, Let: []Attr{{Name: "let", Value: "or(a, 1)"}},
			About: func(function, name string) (any, error) { return []int{2, 1, 5}, nil },
			Accept: func(f map[string]any) bool {
				got = map[string]any{}
				for name, v := range f {
					got.(map[string]any)[name] = v
				}
				return true
			}}
		ok, err := s.Solve([]Goal{{text, c.want}})
		if err != nil || ok != (c.found != nil) || ok && !reflect.DeepEqual(got, c.found) {
			t.Errorf("%s is %v: got %v, %v, %v, want %v", text, c.want, ok, got, err, c.found)
		}
	}
	// What Accept refuses is looked for on.
	tries := 0
	s := &Search{Accept: func(f map[string]any) bool { tries++; return f["a"] == 5 }}
	if ok, err := s.Solve([]Goal{{"a in [3, 5] || b == 1", true}}); !ok || err != nil || tries != 2 {
		t.Errorf("got %v, %v after %d tries", ok, err, tries)
	}
	for text, let := range map[string]string{"(": "1", "a": "("} {
		if _, err := (&Search{Let: []Attr{{"b", let}}}).Solve([]Goal{{text, 1}}); err == nil {
			t.Errorf("%s and %s: want an error", text, let)
		}
	}
	// A search that finds nothing ends.
	wide := strings.Repeat("(a == 1 || a == 2) && ", 40) + "b == 1"
	s = &Search{Accept: func(map[string]any) bool { return false }}
	if ok, err := s.Solve([]Goal{{wide, true}}); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func ExampleBody() {
	lines, err := Body("y, z = Split(x, [1, n] : 'i64'; axis = -1) if n > 0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l := lines[0]
	fmt.Println(l.Outputs, l.Op, l.Args[0].Name, l.Args[1].Text, l.Args[1].Type, l.Attrs, l.When)
	// Output: [y z] Split x [ 1 , n ] 'i64' [{axis - 1}] n > 0
}

func TestBody(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"y": "want =, got the end", "y = 1": "want a name, got 1", "y = A(x": "want ,, got the end", "y = A(x) z": "want the end of the line, got z",
		"y = A(x; b)": "want =, got )", "y = A(1 +)": "want a value, got )",
	} {
		if _, err := Body(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"y = A(x, n)\ny = B(y, [n])":   "",
		"y = A(z)":                     "want a slot, an attribute or what a line in front gives, got z",
		"y = A(x) if m == 1":           "want an attribute or a tensor in m = = 1, got m",
		"z = A(x)":                     "want a line that gives y, got none",
		"y = A(x; b = shape(x) [ 0 ])": "",
	} {
		err := (&Entry{Body: text}).CheckSave([]string{"x"}, []string{"n"}, []string{"y"})
		if (err == nil) != (want == "") || err != nil && strings.ReplaceAll(err.Error(), "==", "= =") != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	e := Entry{When: "a == 1", Ignore: []string{"b"}}
	lines := []Line{{Args: []Arg{{Name: "c"}, {Text: "[d]", Type: "e"}}, Attrs: []Attr{{"z", "f"}}, When: "g"}}
	for _, name := range strings.Fields("a b c d e f g") {
		if !e.Says(lines, name) {
			t.Errorf("%s is not said", name)
		}
	}
	if e.Says(lines, "z") {
		t.Error("z is an attribute of ONNX")
	}
	if err := (&Entry{Op: "A", Save: []Attr{{"p", "q"}}}).CheckSave(nil, nil, nil); err == nil {
		t.Error("want an error of what save reads")
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x, y any
		want bool
	}{{1, 1.0, true}, {1e-5, float64(float32(1e-5)), true}, {1, nil, false}, {nil, nil, true}, {[]int{1}, []float64{1}, true}, {[]int{1}, 1, false}, {"a", "a", true}, {true, 1, false}, {"a", 1, false}} {
		if got := Alike(c.x, c.y); got != c.want {
			t.Errorf("%v and %v: %v", c.x, c.y, got)
		}
	}
}
