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

// check is a test that every operator goes through, as the examples of its spec say. It is known by the
// name of the test.
type check struct {
	test, column, doc string
	// needs reports whether the check must have run a task with element types of the catalogue. It is nil
	// for checks of what only some specs claim or allow.
	needs func(*task.Registered) bool
}

func everyTask(*task.Registered) bool { return true }

func backwardTask(t *task.Registered) bool { return t.Signature.Kind == task.KindBackward }

var checks = []check{
	{"TestEveryElementIsWritten", "written", "results have the shapes of the rules, are finite, and do not depend on what was in memory before", everyTask},
	{"TestPermissions", "permissions", "what a task may only read it leaves as it is, and what it may only write does not depend on what was there", everyTask},
	{"TestDeterminism", "determinism", "the same bits on 1, 2, 3 and 5 workers, for ranges of the plan's size and of one index", everyTask},
	{"TestCutsDoNotMatter", "ranges", "results do not depend on the ranges in which a task runs", everyTask},
	{"TestRunsAreRepeatable", "runs", "runs of a plan leave nothing behind for the next", everyTask},
	{"TestCosts", "cost", "the task can be measured by itself, and what its spec says of its cost makes sense", everyTask},
	{"TestGradients", "differences", "gradients against central differences, of all outputs and of each", nil},
	{"TestGradientsInSinglePrecision", "f32 as f64", "results and gradients in f32 against those in f64", nil},
	{"TestUnusedGradients", "one gradient", "a gradient that is computed alone has the bits that it has among all", nil},
	{"TestTwoConsumers", "sums", "gradients of tensors with two consumers are sums", backwardTask},
	{"TestSingleExtents", "size 1", "extents of 1, one by one and all of one extent, with gradients", nil},
	{"TestEmptyExtents", "size 0", "empty extents, likewise", nil},
	{"TestHalves", "16 bits", "tensors stored in 16 bits: results are those of f32, rounded", nil},
	{"TestInPlace", "in place", "in the memory that the spec says it may share, a task writes the same", nil},
	{"TestElementwise", "elementwise", "a step that claims to work element by element reads and writes one index alone", nil},
	{"TestFusions", "fused", "pairs that a fusion replaces compute the same", nil},
}

// either names checks of which one must have run a backward task: differences need f64.
var either = []string{"TestGradients", "TestGradientsInSinglePrecision"}

// uncovered gives reasons why a check that is needed runs a task with no such element types, by
// "check operator.task (types)".
var uncovered = map[string]string{}

// ran says which tasks ran with which element types, in which test.
var ran = struct {
	sync.Mutex
	types map[string]map[task.ID]map[string]bool
}{types: map[string]map[task.ID]map[string]bool{}}

// observed returns the catalogue's tasks, which note that they ran in the test that t is part of.
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

// rewired returns a registry of the catalogue's tasks in which the result of bound takes the place of
// their bodies. It is made once for each name.
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

// TestMain runs all tests. If all ran, and passed, it checks that they leave out no task of the catalogue
// and no choice of its element types, and that docs/tests.md says so.
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

// gaps lists what no check ran, and reasons given for gaps that are none.
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
		out = append(out, "there is a reason why nothing runs "+key+", but something does")
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

// document compares docs/tests.md with what ran, or rewrites it.
func document() []string {
	var b strings.Builder
	b.WriteString(`# Tests of the catalogue

The tests in kernels/ name no operator. They apply every operator of the catalogue as the examples of
its spec say, with every choice of element types for which it has kernels, and check what must hold
for all of them. While they run, the tasks that the executor binds note the test and the
element types; the table is made of these notes. ` + "`make coverage-table`" + ` runs the tests, rewrites this page
and prints it. The tests fail if they leave out a task, or a choice of element types, in a column
marked with a star, or if the page is out of date; and if a backward task is compared neither with
differences nor, in f32, with f64, or a task that allows tensors of 16 bits does not run with them.

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
In the columns without a star, a dash says that the spec claims nothing of the kind, that its
conditions refuse such extents, that the task has nothing to do there, so that it is left out, or that
there is nothing to differentiate. Kernels get views of contiguous tensors only, whose lanes, along
any dimension, need not be contiguous; no task is ever given other memory.

A cell lists the element types of the operator's dtype variables, or says "all" for all of the second
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

// cell lists the element types with which a task ran.
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

// list joins choices of element types.
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
