package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// TestWordsHaveUsers reports words of the language that no spec of the catalogue uses: roles, types of
// attributes, sources of arguments, permissions and kinds of constraints. Package spec does so for keys,
// package expr for the functions of expressions, and package formula/check for those of formulas.
func TestWordsHaveUsers(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("want specs, got %d: %v", len(files), err)
	}
	used := words{}
	used.add(string(spec.Operator), string(spec.Optimizer), string(spec.Initializer), string(spec.Enum))
	used.add(spec.Roles...)
	used.add("present caller", "grads once", "grads scatter", "source expression", "source shape")
	used.add(prefixed("attribute ", spec.AttrTypes)...)
	used.add(prefixed("source ", rules.SourceWords())...)
	used.add(prefixed("argument ", slices.Collect(maps.Keys(rules.ExprKinds)))...)
	used.add(prefixed("access ", perm.Names())...)
	for _, op := range perm.Redops() {
		used.add("access reduce(" + op + ")")
	}
	delete(used, "access reduce") // without an operation
	used.add(prefixed("constraint ", partition.Kinds())...)
	used.add(prefixed("hint ", partition.Hints())...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used.spec(spec.Read(file, string(text), &diag.List{}))
	}
	for _, word := range slices.Sorted(maps.Keys(used)) {
		if !used[word] {
			t.Errorf("no spec of the catalogue uses: %s", word)
		}
	}
}

// words tells of each word whether a spec uses it.
type words map[string]bool

func prefixed(prefix string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, prefix+n)
	}
	return out
}

func (w words) add(names ...string) {
	for _, n := range names {
		w[n] = w[n]
	}
}

func (w words) use(word string) {
	if _, known := w[word]; known {
		w[word] = true
	}
}

func (w words) spec(s *spec.Spec) {
	w.use(string(s.Kind))
	for _, a := range s.Attrs {
		w.attr(a)
	}
	for _, sl := range s.Slots {
		w.use(sl.Role.V)
		if sl.Present.V == "caller" {
			w.use("present caller")
		}
	}
	for _, a := range s.Args {
		from, _ := rules.SourceOf(a)
		w.use("source " + from.String())
		w.use("argument " + a.Type.V)
	}
	for _, task := range s.Tasks {
		for _, a := range task.Access {
			w.use("access " + a.Value.V)
		}
		for _, g := range task.Grads {
			w.use("grads " + g.Value.V)
		}
		for _, c := range task.Constraints {
			w.use("constraint " + c.Kind.String())
			w.use("hint " + c.Hint.V)
		}
	}
}

func (w words) attr(a *spec.Attr) {
	w.use("attribute " + a.Type.V)
	for _, f := range a.Fields {
		w.attr(f)
	}
}
