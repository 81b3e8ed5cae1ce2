package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// TestSeveral reads a line that stands for several examples, and one for several operators of ONNX.
func TestSeveral(t *testing.T) {
	const text = `doc = "x"
formula = "y[n] = mode(x[n])"
onnx = [
  { op = { Sin = "SIN", Cos = "COS" }, since = 7, let = { here = "op == 'op'" }, attrs = { mode = "op" }, save = { p = "op == 'SIN' ? 1 : none" }, times = "op == 'SIN' ? [1] : []", inputs = [{ slot = "x", shape = "op == 'SIN' ? [5] : [1]" }] },
  { op = "Tan", attrs = { mode = "'TAN'" } },
]
examples = [
  { attrs = { mode = ["SIN", "COS"], fast = [true, false], axes = [0, 1] }, x = [5] },
  { attrs = { mode = "TAN" }, x = [3] },
]
[attrs]
mode = { type = "enum", values = ["SIN", "COS", "TAN"] }
fast = { type = "bool", default = false }
axes = { type = "axes", default = [] }
[slots]
x = { role = "input", shape = ["N..."] }
y = { role = "output", shape = ["N..."] }
`
	var list diag.List
	s := spec.Read("specs/wave.toml", text, &list)
	if !list.Empty() {
		t.Fatal(list.Sorted()[0].Message)
	}
	var examples []string
	for _, x := range s.Examples {
		var attrs []string
		for _, a := range x.Attrs {
			v := "list"
			if one, ok := a.Value.(*source.Scalar); ok {
				v = fmt.Sprint(one.Value)
			}
			attrs = append(attrs, a.Key+"="+v)
		}
		examples = append(examples, strings.Join(attrs, " "))
	}
	want := []string{"mode=SIN fast=true axes=list", "mode=SIN fast=false axes=list", "mode=COS fast=true axes=list", "mode=COS fast=false axes=list", "mode=TAN"}
	if !slices.Equal(examples, want) {
		t.Errorf("examples: want\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(examples, "\n"))
	}
	var entries []string
	for _, x := range s.ONNX {
		entries = append(entries, fmt.Sprintf("%s %d %v %v %v %q %v", x.Op, x.Since, x.Let, x.Attrs, x.Save, x.Times, x.Inputs))
	}
	want = []string{
		"Sin 7 [{here 'SIN' == 'op'}] [{mode 'SIN'}] [{p 'SIN' == 'SIN' ? 1 : none}] \"'SIN' == 'SIN' ? [1] : []\" [{x   'SIN' == 'SIN' ? [5] : [1]  }]",
		"Cos 7 [{here 'COS' == 'op'}] [{mode 'COS'}] [{p 'COS' == 'SIN' ? 1 : none}] \"'COS' == 'SIN' ? [1] : []\" [{x   'COS' == 'SIN' ? [5] : [1]  }]",
		"Tan 1 [] [{mode 'TAN'}] [] \"\" [{x     }]",
	}
	if !slices.Equal(entries, want) {
		t.Errorf("entries of ONNX: want\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(entries, "\n"))
	}
}

// TestSlotsOfKinds reads an initializer and an optimizer that declare none of the slots of their kinds, or
// some.
func TestSlotsOfKinds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kind = \"initializer\"\nformula = \"tensor[n] = 0\"", "output tensor T"},
		{"kind = \"initializer\"\nformula = \"tensor[n] = 0\"\nslots = { tensor = { role = \"output\", type = \"i32\", shape = [2] } }", "output tensor i32"},
		{"kind = \"optimizer\"\nformula = \"weight[n] = old.weight[n] - step[n] * grad[n]\"\nslots = { step = { role = \"input\", type = \"f32\", shape = [\"N...\"] } }", "input weight T, input grad T, input step f32"},
		{"kind = \"optimizer\"\nformula = \"weight[n] = old.weight[n] / 2\"", "input weight T"},
		{"formula = \"tensor[n] = weight[n] + grad[n]\"", ""},
	} {
		var list diag.List
		s := spec.Read("specs/x.toml", "doc = \"x\"\n"+c.text, &list)
		var slots []string
		for _, sl := range s.Slots {
			slots = append(slots, sl.Role.V+" "+sl.Name+" "+sl.Type.V)
		}
		if got := strings.Join(slots, ", "); got != c.want || len(s.Types) > 0 != strings.Contains(got, "T") {
			t.Errorf("%s: want the slots %s, got %s, with %d dtype variables", c.text, c.want, got, len(s.Types))
		}
	}
}
