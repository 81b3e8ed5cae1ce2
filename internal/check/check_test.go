package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// The findings of this package are tested in package driver, by the archives in its testdata/diag.

// TestTaskIDs checks that tasks with the same id are reported. The test makes ids equal, since it knows no
// names whose ids are.
func TestTaskIDs(t *testing.T) {
	var list diag.List
	var specs []*spec.Spec
	for _, name := range []string{"one", "two", "three"} {
		text := "edition = 1\nname = \"" + name + "\"\ndoc = \"x\"\n[tasks.forward]\nover = 1\n[tasks.backward]\nover = 1\n"
		specs = append(specs, spec.Read("specs/"+name+".toml", text, &list))
	}
	c := &checker{list: &list}
	if c.taskIDs(specs, task.IDOf); !list.Empty() {
		t.Fatalf("findings: %v", list.Sorted())
	}
	c.taskIDs(specs, func(operator, name string) task.ID {
		if operator == "three" {
			operator = "one"
		}
		return task.IDOf(operator, name)
	})
	var b strings.Builder
	if err := diag.WriteText(&b, list.Sorted()); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("F", task.IDOf("one", "forward").String(), "B", task.IDOf("one", "backward").String()).Replace(
		`specs/three.toml:4:8: OP602: tasks three.forward and one.forward have the same id F
  [tasks.forward]
         ^^^^^^^
specs/one.toml:4:8: note: the other one
  [tasks.forward]
         ^^^^^^^
  hint: rename one of the operators
specs/three.toml:6:8: OP602: tasks three.backward and one.backward have the same id B
  [tasks.backward]
         ^^^^^^^^
specs/one.toml:6:8: note: the other one
  [tasks.backward]
         ^^^^^^^^
  hint: rename one of the operators
`)
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

// TestF20BoundsAreInclusive gives defaults at the bounds of their attributes, and just outside.
func TestF20BoundsAreInclusive(t *testing.T) {
	for _, c := range []struct{ kind, value, want string }{
		{"int", "1", ""},
		{"int", "4", ""},
		{"int", "0", "0 is below min = 1"},
		{"int", "5", "5 is above max = 4"},
		{"float", "1.0", ""},
		{"float", "4.0", ""},
		{"float", "0.9999", "0.9999 is below min = 1"},
		{"float", "4.0001", "4.0001 is above max = 4"},
	} {
		var list diag.List
		s := spec.Read("specs/x.toml", fmt.Sprintf("name = \"x\"\n[attrs]\na = { type = %q, min = 1, max = 4, default = %s }\n", c.kind, c.value), &list)
		got := ""
		if f := outside(s.Attrs[0], s.Attrs[0].Default); f != nil {
			got = f.message
		}
		if got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.kind, c.value, got, c.want)
		}
	}
}
