package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
)

// told returns the tasks and the arguments of a spec as text.
func told(s *Spec) string {
	var b strings.Builder
	for _, a := range s.Args {
		fmt.Fprintf(&b, "arg %s from %s\n", a.Name, a.From.V)
	}
	for _, t := range s.Tasks {
		b.WriteString(t.Name)
		for _, n := range t.Args {
			b.WriteString(" " + n.V)
		}
		for _, a := range t.Access {
			fmt.Fprintf(&b, ", %s %s", a.Slot, a.Value.V)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestFollow reads specs that state some of their tasks, arguments and permissions, or none of them.
func TestFollow(t *testing.T) {
	const (
		x       = `x = { role = "input", type = "f32", shape = ["N"] }`
		indices = `x = { role = "input", type = "i32", shape = ["N"] }`
		y       = `y = { role = "output", type = "f32", shape = ["N"] }`
		w       = `w = { role = "weight", type = "f32", shape = ["N"], trainable = false }`
		weight  = `weight = { role = "input", type = "f32", shape = ["N"] }`
		grad    = `grad = { role = "input", type = "f32", shape = ["N"] }`
	)
	for _, c := range []struct{ name, head, formula, slots, want string }{
		{"gradient", "", "y[n] = 2 * x[n]", x + "\n" + y, "forward\nbackward\n"},
		{"no gradient", "", "y[n] = 2 * x[n]", indices + "\n" + y, "forward\n"},
		{"refused gradient", "tasks = { forward = {} }", "y[n] = 2 * x[n]", x + "\n" + y, "forward\n"},
		{"backward alone", "tasks = { backward = { grads = { x = \"scatter\" } } }", "y[n] = 2 * x[n]", x + "\n" + y, "forward\nbackward\n"},
		{"no formula", "", "", x + "\n" + y, ""},
		{"formula that is no string", "formula = 1", "", x + "\n" + y, ""},
		{"tasks that are no table", "tasks = 1", "y[n] = x[n]", x + "\n" + y, ""},
		{"initializer", `kind = "initializer"`, "y[n] = graph_seed", y, "arg graph_seed from seed\nforward graph_seed\n"},
		{"optimizer", `kind = "optimizer"`, "weight[n] = old.weight[n] - grad[n]", weight + "\n" + grad, "update, weight readwrite\n"},
		{"weight that is read", "", "y[n] = old.w[n]\nw[n] = x[n]", indices + "\n" + w + "\n" + y, "forward, w readwrite\n"},
		{"weight that is not read", "", "y[n] = x[n]\nw[n] = x[n]", indices + "\n" + w + "\n" + y, "forward, w write\n"},
		{"weight that may stay", "", "y[n] = x[n]\nw[n] = x[n] when true", indices + "\n" + w + "\n" + y, "forward, w readwrite\n"},
		{"weight that nothing gives", "", "y[n] = w[n]", indices + "\n" + w + "\n" + y, "forward\n"},
		{"stated permission", `tasks = { forward = { access = { w = "readwrite" } } }`, "y[n] = x[n]\nw[n] = x[n]", indices + "\n" + w + "\n" + y, "forward, w readwrite\n"},
		{"iteration", "", "y[n] = iteration * x[n]", x + "\n" + y, "arg iteration from iteration\nforward iteration\nbackward iteration\n"},
		{"iteration of a function", "", "f(x) = x * iteration\ny[n] = f(x[n])", indices + "\n" + y, "arg iteration from iteration\nforward iteration\n"},
		{"a parameter", "", "f(iteration) = 2 * iteration\ny[n] = f(x[n])", indices + "\n" + y, "forward\n"},
		{"an index of a reduction", "", "y[n] = sum(iteration: x[iteration])", indices + "\n" + y, "forward\n"},
		{"an index", "", "y[iteration] = x[iteration]", indices + "\n" + y, "forward\n"},
		{"a value", "", "iteration = 3\ny[n] = iteration * x[n]", indices + "\n" + y, "forward\n"},
		{"an attribute", `attrs = { iteration = { type = "int" } }`, "y[n] = iteration * x[n]", indices + "\n" + y, "forward\n"},
		{"a dimension", "", "y[n] = iteration * x[n]", indices + "\n" + y + "\niteration = { role = \"input\", type = \"i32\", shape = [] }", "forward\n"},
		{"stated argument", `args = { iteration = { from = "7" } }`, "y[n] = iteration * x[n]", indices + "\n" + y, "arg iteration from 7\nforward iteration\n"},
		{"stated list", `tasks = { forward = { args = ["iteration"] }, backward = {} }`, "y[n] = iteration * x[n]", x + "\n" + y, "arg iteration from iteration\nforward iteration\nbackward\n"},
		{"what the caller passes", "args = { a = { type = \"int\", from = \"call\" } }\ntasks = { forward = { args = [] }, backward = {} }", "y[n] = a * x[n]", x + "\n" + y, "arg a from call\nforward a\nbackward a\n"},
		{"an argument that the formula does not use", `args = { a = { type = "int", from = "iteration" } }`, "y[n] = x[n]", indices + "\n" + y, "arg a from iteration\nforward\n"},
	} {
		head := c.head
		if c.formula != "" {
			head += "\nformula = '''\n" + c.formula + "'''"
		}
		var list diag.List
		s := Read("specs/op.toml", "doc = \"x\"\n"+head+"\n[slots]\n"+c.slots+"\n", &list)
		if got := told(s); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestTypes reads specs that state no dtype variables.
func TestTypes(t *testing.T) {
	const floating = "T = f16 bf16 f32 f64\n"
	for _, c := range []struct{ name, text, want string }{
		{"no type", `slots = { x = { role = "input", shape = [] } }`, floating + "x T\n"},
		{"a stated T", `slots = { x = { role = "input", type = "T", shape = [] } }`, floating + "x T\n"},
		{"a type of its own and none", `slots = { x = { role = "input", type = "i32", shape = [] }, y = { role = "input", shape = [] } }`, floating + "x i32\ny T\n"},
		{"types of their own", `slots = { x = { role = "input", type = "i32", shape = [] } }`, "x i32\n"},
		{"another variable", `slots = { x = { role = "input", type = "U", shape = [] } }`, "x U\n"},
		{"stated variables", "dtypes = { U = [\"i32\"] }\nslots = { x = { role = \"input\", shape = [] } }", "U = i32\nx U\n"},
		{"no variables", "dtypes = {}\nslots = { x = { role = \"input\", shape = [] } }", "x \n"},
		{"slots that are no table", "slots = 1", ""},
		{"no slots", "", ""},
	} {
		var list diag.List
		s := Read("specs/op.toml", "doc = \"x\"\n"+c.text+"\n", &list)
		got := ""
		for _, v := range s.Types {
			got += v.Name + " ="
			for _, x := range v.Types {
				got += " " + x.V
			}
			got += "\n"
		}
		for _, sl := range s.Slots {
			got += sl.Name + " " + sl.Type.V + "\n"
		}
		if got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestCategory reads specs with and without a category.
func TestCategory(t *testing.T) {
	for text, want := range map[string]string{
		`kind = "optimizer"`: "optimizers", `kind = "initializer"`: "initializers", `family = "loss"`: "losses", `kind = "operator"`: "", "": "",
		"kind = \"optimizer\"\ncategory = \"updates\"": "updates", "family = \"reduce\"\ncategory = \"reductions\"": "reductions", "kind = \"optimizer\"\nfamily = \"sgd\"": "optimizers",
	} {
		var list diag.List
		if s := Read("specs/op.toml", "doc = \"x\"\n"+text+"\n", &list); s.Category.V != want {
			t.Errorf("%s: got the category %q, want %q", text, s.Category.V, want)
		}
	}
}
