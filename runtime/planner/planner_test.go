package planner_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// random returns a training step of a random graph: layers whose inputs are any earlier tensors,
// joined by additions, with losses of a regularizer here and there.
func random(t testing.TB, seed uint64) *graph.Program {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	g := graph.New(seed)
	batch := 1 + r.IntN(4)
	pool := []graph.Tensor{g.Input("x", dtype.F32, batch, 1+r.IntN(40))}
	label := g.Input("label", dtype.I32, batch, 1)
	var fetch []graph.Tensor
	for range 3 + r.IntN(12) {
		x := pool[r.IntN(len(pool))]
		at := linear.Defaults(1 + r.IntN(60))
		at.Activation = activation.Activation(r.IntN(5))
		if r.IntN(4) == 0 {
			at.Regularizer = attr.Some(linear.NewRegularizer(penalty.L1, 0.1))
		}
		y := linear.Apply(g, at, x)
		if r.IntN(3) == 0 {
			y = softmax.Apply(g, softmax.Defaults(), y)
		}
		if z := pool[r.IntN(len(pool))]; slices.Equal(z.Shape(), y.Shape()) {
			y = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwMul), elementbinary.LhsInput(y), elementbinary.RhsInput(z))
		}
		pool = append(pool, y)
		if r.IntN(5) == 0 {
			fetch = append(fetch, y)
		}
	}
	l := scce.Apply(g, scce.Defaults(), scce.Logit(pool[len(pool)-1]), scce.Label(label))
	p, err := graph.Training(g, l, adam.Optimizer(adam.Defaults()), fetch...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func build(t testing.TB, p *graph.Program, opts ...planner.Option) *plan.Plan {
	t.Helper()
	pl, err := planner.Build(p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

func hash(t testing.TB, p *plan.Plan) string {
	t.Helper()
	h, err := p.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestMemory checks the memory of random plans: no two roots that are live at the same time overlap,
// all are aligned and lie within the arena, and the arena is hardly larger than it must be.
func TestMemory(t *testing.T) {
	var arena, bound int64
	for seed := range uint64(200) {
		p := build(t, random(t, seed))
		checkMemory(t, fmt.Sprintf("seed %d", seed), p)
		if p.ArenaBytes < p.LowerBound() {
			t.Errorf("seed %d: an arena of %d bytes is below the bound %d", seed, p.ArenaBytes, p.LowerBound())
		}
		if p.ArenaBytes > 2*p.LowerBound()+int64(len(p.Roots))*plan.Align {
			t.Errorf("seed %d: an arena of %d bytes, but the bound is %d", seed, p.ArenaBytes, p.LowerBound())
		}
		arena, bound = arena+p.ArenaBytes, bound+p.LowerBound()
	}
	t.Logf("all arenas together are %.1f %% larger than the bound", 100*(float64(arena)/float64(bound)-1))
	if float64(arena) > 1.2*float64(bound) {
		t.Errorf("all arenas together have %d bytes, but the bounds are %d", arena, bound)
	}
}

// checkMemory computes lifetimes again and compares all pairs of roots.
func checkMemory(t *testing.T, what string, p *plan.Plan) {
	t.Helper()
	type life struct{ first, last int }
	lives := make([]life, len(p.Roots))
	for i, r := range p.Roots {
		lives[i] = life{len(p.Tasks), -1}
		if r.Use == plan.Fed {
			lives[i].first = -1
		}
		if r.Use == plan.Fetched {
			lives[i].last = len(p.Tasks)
		}
		if r.Place.Off%plan.Align != 0 || r.Place.Bytes != r.Operand().Bytes() {
			t.Errorf("%s: %s lies at %+v", what, r.Name, r.Place)
		}
		if variable := r.Use == plan.Variable; variable != (r.Place.Space == region.Variable) || variable && r.Place.Off != 0 {
			t.Errorf("%s: %s, which is %v, lies at %+v", what, r.Name, r.Use, r.Place)
		}
	}
	for i, task := range p.Tasks {
		if len(task.Access) == 0 || task.Over <= 0 || task.Grain <= 0 {
			t.Errorf("%s: task %d runs over %d in ranges of %d, with %d tensors", what, i, task.Over, task.Grain, len(task.Access))
		}
		for _, a := range task.Access {
			l := &lives[a.Root]
			l.first, l.last = min(l.first, i), max(l.last, i)
		}
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		if l := lives[i]; l.first > l.last {
			continue // no task that runs touches it
		}
		if l := lives[i]; r.First != l.first || r.Last < l.last {
			t.Errorf("%s: %s lives from %d to %d, want %d to %d", what, r.Name, r.First, r.Last, l.first, l.last)
		}
		if r.Place.Space != region.Arena {
			continue
		}
		if r.Place.Off < 0 || r.Place.Off+r.Place.Bytes > p.ArenaBytes {
			t.Errorf("%s: %s lies at %+v, outside %d bytes", what, r.Name, r.Place, p.ArenaBytes)
		}
		for j := range i {
			q := &p.Roots[j]
			meet := r.First <= q.Last && q.First <= r.Last
			// What is fed for the next run must not destroy what the last run computed.
			meet = meet || r.First < 0 && q.Last == len(p.Tasks) || q.First < 0 && r.Last == len(p.Tasks)
			if meet && r.Place.Overlaps(q.Place) {
				t.Errorf("%s: %s at %+v and %s at %+v are live together", what, r.Name, r.Place, q.Name, q.Place)
			}
		}
	}
}

// TestPlansAreRepeatable builds the same program, and equal programs, several times.
func TestPlansAreRepeatable(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(20) {
		p := random(t, seed)
		want := hash(t, build(t, p))
		if other, ok := seen[want]; ok {
			t.Errorf("seeds %d and %d give the same plan", seed, other)
		}
		seen[want] = seed
		for range 3 {
			if got := hash(t, build(t, p)); got != want {
				t.Fatalf("seed %d: the same program gives another plan", seed)
			}
			if got := hash(t, build(t, random(t, seed))); got != want {
				t.Fatalf("seed %d: an equal program gives another plan", seed)
			}
		}
	}
}

func TestEncode(t *testing.T) {
	for seed := range uint64(20) {
		p := build(t, random(t, seed))
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := plan.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, again) || hash(t, p) != hash(t, back) {
			t.Errorf("seed %d: the plan changed on its way through JSON:\n%s\n%s", seed, data, again)
		}
		checkMemory(t, fmt.Sprintf("seed %d, decoded", seed), back)
	}
}

// train runs a plan of a program twice, on new variables, and returns what it fetches and all variables
// as text.
func train(t testing.TB, p *graph.Program, pl *plan.Plan) string {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	defer e.Close()
	var out strings.Builder
	load := func(p *plan.Plan) *engine.Instance {
		in, err := e.Load(p)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	if err := load(build(t, init)).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	in := load(pl)
	for range 2 {
		for _, x := range p.Fed {
			n := shape.Prod(x.Shape())
			if x.Type() == dtype.I32 {
				err = engine.Feed(in, x.Name(), make([]int32, n))
			} else {
				data := make([]float32, n)
				for i := range data {
					data[i] = float32(i%7) - 3
				}
				err = engine.Feed(in, x.Name(), data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, x := range append(p.Variables, p.Fetched...) {
			v, err := engine.Fetch[float32](in, x.Name())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, x.Name(), v)
		}
	}
	return out.String()
}

// TestDecodedPlansRun trains with a plan and with its decoded copy: they compute the same.
func TestDecodedPlansRun(t *testing.T) {
	program := random(t, 3)
	p := build(t, program)
	want := train(t, program, p)
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	got := train(t, program, back)
	if got != want || !strings.Contains(want, "sparse_categorical_crossentropy.loss") {
		t.Errorf("the decoded plan computes\n%s\nwant\n%s", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	for data, want := range map[string]string{
		"":                          "plan: unexpected end of JSON input",
		`{"format": 0}`:             "plan: want format 1, got 0",
		`{"format": 2}`:             "plan: want format 1, got 2",
		`{"roots": [{"use": "x"}]}`: `plan: plan: unknown use "x"`,
		`{"roots": [{"place": {"space": "disk"}}]}`: `plan: unknown memory space "disk"`,
		`{"roots": [{"type": "f99"}]}`:              `plan: unknown element type "f99"`,
	} {
		if p, err := plan.Decode([]byte(data)); err == nil || err.Error() != want || p != nil {
			t.Errorf("Decode(%s): got %v, want %s", data, err, want)
		}
	}
}

// TestContents checks a small plan in full.
func TestContents(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 2, 3)
	at := flat.Defaults()
	at.StartDim = 1
	y := linear.Apply(g, linear.Defaults(2).WithActivation(activation.Gelu), flat.Apply(g, at, x), graph.Named("fc"))
	seed := g.Input("seed", dtype.F32, 4, 2)
	w := y.Node().Tensor(int(linear.SlotWeight))
	program, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{w}, y)
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, program)
	var b strings.Builder
	for i, r := range p.Roots {
		fmt.Fprintf(&b, "%d %s %v %v %v %d..%d\n", i, r.Name, r.Operand(), r.Use, r.Place.Space, r.First, r.Last)
	}
	for i, task := range p.Tasks {
		fmt.Fprintf(&b, "%s step %d over %d by %d:", p.Label(i), task.Step, task.Over, task.Grain)
		for _, a := range task.Access {
			fmt.Fprintf(&b, " %v %v", a.Perm, a.Region)
		}
		b.WriteString("\n")
	}
	want := `0 x f32[4, 2, 3] fed arena -1..1
1 seed f32[4, 2] fed arena -1..1
2 fc.weight f32[2, 6] variable variable 0..1
3 fc.bias f32[2] variable variable 0..0
4 fc.output f32[4, 2] fetched arena 0..2
5 fc.pre f32[4, 2] internal arena 0..1
6 fc.backward.grad_pre f32[4, 2] internal arena 1..1
7 grad of fc.weight f32[2, 6] fetched arena 1..2
fc: linear.forward step 0 over 24 by 24: read 0[0:4, 0:2, 0:3] read 2[0:2, 0:6] read 3[0:2] write 4[0:4, 0:2] write 5[0:4, 0:2]
fc: linear.backward step 0 over 24 by 24: read 0[0:4, 0:2, 0:3] read 2[0:2, 0:6] read 5[0:4, 0:2] scratch 6[0:4, 0:2] write 7[0:2, 0:6] read 1[0:4, 0:2]
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	if p.VariableBytes() != 4*(12+2) || p.WorkerBytes != 0 {
		t.Errorf("%d bytes of variables, %d of a worker", p.VariableBytes(), p.WorkerBytes)
	}
}

// TestWorkerMemory checks that a plan has enough scratch memory for its most demanding task.
func TestWorkerMemory(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 1, 1, 5, 5)
	at := conv2d.Defaults(3, 2, 2)
	y := conv2d.Apply(g, at, x) // columns of 4 x 16
	z := conv2d.Apply(g, at, y) // columns of 12 x 9
	p, err := graph.Inference(g, z)
	if err != nil {
		t.Fatal(err)
	}
	if got := build(t, p).WorkerBytes; got != 448 { // 4*12*9 = 432, aligned
		t.Errorf("%d bytes", got)
	}
}

// TestEmptyTasks checks that steps over nothing are left out, and that tensors which only they touch
// count nowhere.
func TestEmptyTasks(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 0, 3)
	y := g.Input("y", dtype.F32, 3)
	sum := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
	p, err := graph.Inference(g, sum)
	if err != nil {
		t.Fatal(err)
	}
	pl := build(t, p)
	if len(pl.Tasks) != 0 || len(pl.Calls) != 1 || len(pl.Roots) != 3 {
		t.Errorf("%d tasks, %d calls, %d roots", len(pl.Tasks), len(pl.Calls), len(pl.Roots))
	}
	pl = &plan.Plan{Roots: []plan.Root{
		{Name: "untouched", Place: region.Place{Bytes: 1000}, First: 2, Last: -1},
		{Name: "first", Place: region.Place{Bytes: 10}, First: 0, Last: 0},
		{Name: "second", Place: region.Place{Bytes: 20}, First: 0, Last: 1},
		{Name: "fed", Place: region.Place{Bytes: 5}, First: -1, Last: 1},
		{Name: "variable", Place: region.Place{Space: region.Variable, Bytes: 500}, Use: plan.Variable, First: 0, Last: 1},
	}, Tasks: make([]plan.Task, 2)}
	if got := pl.LowerBound(); got != 35 {
		t.Errorf("LowerBound = %d, want 35", got)
	}
}

// TestLifetimesAreReferenceCounts runs plans as a backend would that counts references: each task that is
// to touch a tensor holds one, and a tensor whose last is gone is freed at once, unless the caller reads it
// afterwards. The plan has, before a run, what the counts find out: the task at which each is freed,
// and so the memory that is ever in use.
func TestLifetimesAreReferenceCounts(t *testing.T) {
	for seed := range uint64(100) {
		p := build(t, random(t, seed))
		count := make([]int, len(p.Roots))
		for i := range p.Tasks {
			for _, a := range p.Tasks[i].Access {
				count[a.Root]++
			}
		}
		var used, peak int64
		held := make([]bool, len(p.Roots))
		hold := func(r region.Root) {
			if !held[r] && p.Roots[r].Use != plan.Variable {
				held[r] = true
				used += p.Roots[r].Place.Bytes
				peak = max(peak, used)
			}
		}
		release := func(r region.Root, at int) {
			if count[r] > 0 || !held[r] || p.Roots[r].Last == len(p.Tasks) {
				return
			}
			if p.Roots[r].Last != at {
				t.Errorf("seed %d: %s is free after task %d, planned is %d", seed, p.Roots[r].Name, at, p.Roots[r].Last)
			}
			held[r] = false
			used -= p.Roots[r].Place.Bytes
		}
		for r := range p.Roots {
			if p.Roots[r].Use == plan.Fed {
				hold(region.Root(r))
			}
		}
		for r := range p.Roots {
			release(region.Root(r), -1)
		}
		for i := range p.Tasks {
			for _, a := range p.Tasks[i].Access {
				hold(a.Root)
			}
			for _, a := range p.Tasks[i].Access {
				count[a.Root]--
				release(a.Root, i)
			}
		}
		for r := range held {
			if fetched := p.Roots[r].Last == len(p.Tasks) && p.Roots[r].Use != plan.Variable; held[r] != fetched {
				t.Errorf("seed %d: %s is left: %v, to be read: %v", seed, p.Roots[r].Name, held[r], fetched)
			}
		}
		if peak != p.LowerBound() {
			t.Errorf("seed %d: counting references takes %d bytes, the plan's bound is %d", seed, peak, p.LowerBound())
		}
	}
}
