package kernels_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

var update = flag.Bool("update", false, "rewrite docs/tests.md")

// check is a test that applies every operator as the examples of its spec say.
type check struct {
	test   string // the name of the test function
	column string // the heading of its column in docs/tests.md
	doc    string // what it checks
	// needs reports whether the check must run a task with every choice of element types. It is nil for a
	// check of something that only some specs declare or allow.
	needs func(*task.Registered) bool
}

func everyTask(*task.Registered) bool { return true }

// tensorTask leaves out tasks that make and free per-device state, which get no tensors.
func tensorTask(t *task.Registered) bool {
	return t.Signature.Kind != task.KindInit && t.Signature.Kind != task.KindCleanup
}

func backwardTask(t *task.Registered) bool { return t.Signature.Kind == task.KindBackward }

var checks = []check{
	{"TestEveryElementIsWritten", "written", "results have the shapes that the spec gives, are finite, and do not depend on the bytes that were in memory before", everyTask},
	{"TestPermissions", "permissions", "a task does not change what it may only read, and does not read what it may only write", tensorTask},
	{"TestDeterminism", "determinism", "results have the same bits on 1, 2, 3 and 5 workers, with ranges of the plan's size and of one index", everyTask},
	{"TestCutsDoNotMatter", "ranges", "results do not depend on the ranges in which a task runs, up to rounding", everyTask},
	{"TestRunsAreRepeatable", "runs", "a run of a plan does not depend on memory that an earlier run has left", everyTask},
	{"TestCosts", "cost", "the task can be measured by itself, and the cost that its spec gives is plausible", everyTask},
	{"TestGradients", "differences", "gradients equal central differences, of all outputs and of each", nil},
	{"TestGradientsInSinglePrecision", "f32 as f64", "results and gradients in f32 equal those in f64 up to rounding", nil},
	{"TestUnusedGradients", "one gradient", "a gradient has the same bits, computed alone or together with all others", nil},
	{"TestTwoConsumers", "sums", "gradients of tensors with two consumers are sums", backwardTask},
	{"TestSingleExtents", "size 1", "the checks of written and differences, with extents of 1 in place of one extent, of all that are equal, or of all", nil},
	{"TestEmptyExtents", "size 0", "the same with extents of 0", nil},
	{"TestHalves", "16 bits", "tensors stored in 16 bits: results are those of f32, rounded to 16 bits", nil},
	{"TestInPlace", "in place", "a task writes the same where two slots share memory, as its spec allows", nil},
	{"TestElementwise", "elementwise", "a step that is declared elementwise reads and writes only the elements of its indices", nil},
	{"TestChecked", "checked", "the task keeps to the rules of [checked mode](backend.md#checked-mode)", everyTask},
	{"TestFusions", "fused", "a fused operator computes what the pair computes that it replaces", nil},
}

// either names two checks. One of them must run each backward task: differences need f64, and the comparison
// with f64 needs f32.
var either = []string{"TestGradients", "TestGradientsInSinglePrecision"}

// uncovered gives the reason for each gap: a check does not run a task with a choice of element types,
// although it needs to. Keys have the form "check operator.task (types)".
var uncovered = map[string]string{}

// ran records which tasks ran with which element types, by test.
var ran = struct {
	sync.Mutex
	types map[string]map[task.ID]map[string]bool // by test, task and element types
}{types: map[string]map[task.ID]map[string]bool{}}

// observed returns a registry of the catalogue's tasks. Binding such a task records that the test that t is
// part of ran it.
func observed(t *testing.T) *task.Registry {
	test, _, _ := strings.Cut(t.Name(), "/")
	return rewired(test, func(a *task.Accessor, bodies []op.Body) []op.Body { note(test, a); return bodies })
}

func note(test string, a *task.Accessor) {
	ran.Lock()
	defer ran.Unlock()
	if ran.types[test] == nil {
		ran.types[test] = map[task.ID]map[string]bool{}
	}
	tasks := ran.types[test]
	if tasks[a.Signature.ID] == nil {
		tasks[a.Signature.ID] = map[string]bool{}
	}
	tasks[a.Signature.ID][dtype.Format(a.Resolved.Types)] = true
}

// rewired returns a registry of the catalogue's tasks in which the bodies that bound returns replace the
// bodies of the tasks. It builds one registry for each name.
func rewired(name string, bound func(*task.Accessor, []op.Body) []op.Body) *task.Registry {
	r, _ := registries.LoadOrStore(name, sync.OnceValue(func() *task.Registry { return rewire(bound) }))
	return r.(func() *task.Registry)()
}

var registries sync.Map // of functions that return *task.Registry, by name

func rewire(bound func(*task.Accessor, []op.Body) []op.Body) *task.Registry {
	var r task.Registry
	for _, o := range catalogue.Operators() {
		for _, sig := range o.Signatures {
			t := registry().Task(sig.ID)
			variants := slices.Clone(t.Variants)
			for i := range variants {
				bind := variants[i].Bind
				variants[i].Bind = func(a *task.Accessor) ([]op.Body, error) {
					bodies, err := bind(a)
					if err != nil {
						return nil, err
					}
					return bound(a, bodies), nil
				}
			}
			if err := r.RegisterTask(t.ID, t.Name, t.Signature, variants...); err != nil {
				panic(err)
			}
		}
	}
	return &r
}

// TestMain runs the tests. If all of them ran and passed, it checks that they ran every task of the catalogue
// with every choice of element types, and that docs/tests.md is up to date.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && flag.Lookup("test.list").Value.String() == ""
	if code == 0 && all {
		if problems := slices.Concat(gaps(), document()); len(problems) > 0 {
			fmt.Println(strings.Join(problems, "\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// gaps lists what the checks that need it did not run, and the keys of uncovered that are no gaps.
func gaps() []string {
	var out []string
	reasons := maps.Clone(uncovered)
	each(func(t *task.Registered) {
		for _, v := range t.Variants {
			types := dtype.Format(v.Types)
			gap := func(test string) {
				key := fmt.Sprintf("%s %s (%s)", test, t.Signature.Name(), types)
				if _, ok := reasons[key]; !ok {
					out = append(out, "nothing runs "+key)
				}
				delete(reasons, key)
			}
			for _, c := range checks {
				if c.needs != nil && c.needs(t) && !ran.types[c.test][t.ID][types] {
					gap(c.test)
				}
			}
			if backwardTask(t) && !slices.ContainsFunc(either, func(test string) bool { return ran.types[test][t.ID][types] }) {
				gap(strings.Join(either, " or "))
			}
		}
	})
	each(func(t *task.Registered) {
		for _, half := range []dtype.Type{dtype.F16, dtype.BF16} {
			allowed := slices.ContainsFunc(t.Signature.Operator.Types, func(v task.TypeVar) bool { return dtype.Contains(v.Types, half) })
			did := slices.ContainsFunc(slices.Collect(maps.Keys(ran.types["TestHalves"][t.ID])), func(types string) bool {
				return slices.Contains(strings.Split(types, ", "), half.String())
			})
			if allowed && !did {
				out = append(out, fmt.Sprintf("nothing runs TestHalves %s with %v", t.Signature.Name(), half))
			}
		}
	})
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, "uncovered says that nothing runs "+key+", but the check runs it: want the key removed")
	}
	return out
}

// each calls f for every task of the catalogue.
func each(f func(*task.Registered)) {
	for _, o := range catalogue.Operators() {
		for _, sig := range o.Signatures {
			f(registry().Task(sig.ID))
		}
	}
}

// document compares docs/tests.md with the record of what ran. With -update it rewrites the page instead.
func document() []string {
	var b strings.Builder
	b.WriteString(`# Tests of the catalogue

The checks below apply every operator of the catalogue as the examples of its spec say, with every choice of
element types for which it has kernels. They check what must hold for all operators. When the engine binds a
task, the test records the task and its element types. The table shows these records.
` + "`make coverage-table`" + ` runs the tests, rewrites this page and prints it. The tests fail if

- a column marked with a star lacks a task, or a choice of its element types,
- no check compares the gradients of a backward task with differences or, in f32, with f64,
- a task that allows tensors of 16 bits does not run with them, or
- this page is out of date.

What the columns check:

`)
	for _, c := range checks {
		star := ""
		if c.needs != nil {
			star = "\\*"
		}
		fmt.Fprintf(&b, "- **%s**%s (%s): %s\n", c.column, star, c.test, c.doc)
	}
	b.WriteString(`
In the columns without a star, a dash has one of these reasons:

- The spec declares nothing of the kind.
- The conditions of the spec refuse such extents.
- The plan leaves the task out, as it has nothing to do.
- There is nothing to differentiate.

Kernels get contiguous tensors only. The lanes of a tensor along a dimension need not be contiguous.

A cell lists the element types of the operator's dtype variables. "all" stands for all choices in the second
column.

| task | element types |`)
	for _, c := range checks {
		fmt.Fprintf(&b, " %s |", c.column)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(checks)) + "\n")
	each(func(t *task.Registered) {
		var all []string
		for _, v := range t.Variants {
			all = append(all, dtype.Format(v.Types))
		}
		fmt.Fprintf(&b, "| %s | %s |", t.Signature.Name(), list(all))
		for _, c := range checks {
			fmt.Fprintf(&b, " %s |", cell(all, ran.types[c.test][t.ID]))
		}
		b.WriteByte('\n')
	})
	for _, key := range slices.Sorted(maps.Keys(uncovered)) {
		fmt.Fprintf(&b, "\n%s: %s\n", key, uncovered[key])
	}
	const file = "../docs/tests.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != b.String() {
		return []string{file + " is out of date; run go test ./kernels -update"}
	}
	return nil
}

// cell lists the element types with which a task ran. It writes "all" for all choices of the catalogue.
func cell(all []string, types map[string]bool) string {
	var rest []string
	full := len(types) > 0
	for _, s := range all {
		full = full && types[s]
	}
	for _, s := range slices.Sorted(maps.Keys(types)) {
		if !full || !slices.Contains(all, s) {
			rest = append(rest, s)
		}
	}
	if full {
		rest = append([]string{"all"}, rest...)
	}
	return list(rest)
}

// list joins choices of element types. A task without dtype variables has one choice, which is empty.
func list(choices []string) string {
	if len(choices) == 0 {
		return "-"
	}
	var out []string
	for _, c := range choices {
		if c == "" {
			c = "one"
		}
		out = append(out, strings.ReplaceAll(c, ", ", "/"))
	}
	return strings.Join(out, " ")
}
