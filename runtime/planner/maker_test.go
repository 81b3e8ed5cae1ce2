package planner_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// making is a plan to be made, and how it is checked.
type making struct {
	name string
	make func() (*plan.Plan, error)
	// program is the source of the plan; nil for a plan of arbitrary tasks, which tasks holds.
	program *graph.Program
	tasks   func() []plan.Task
}

// makings lists plans that use all of the planner: random programs, tensors in place, views, chains, batches,
// conversions, micro-batches, several devices, tasks for single tiles, explicit order, a convolutional
// classifier, and arbitrary tasks; each for one worker and for several.
func makings(t *testing.T) []making {
	t.Helper()
	programs := map[string]*graph.Program{
		"random 1": random(t, 1), "random 4": random(t, 4),
		"in place 1": randomReuse(t, 1), "in place 5": randomReuse(t, 5), "in place 8": randomReuse(t, 8),
		"elementwise": elementwiseStep(t, 2, 3),
		"f16":         classifier(t, dtype.F16), "bf16": classifier(t, dtype.BF16),
		"convolution": convolution(t), "devices": parallel(t, 2),
	}
	g := graph.New(5)
	x := g.Input("x", dtype.F32, 4, 2)
	y := linear.Apply(g, linear.Defaults(3), x)
	micro, update, err := graph.Accumulation(g, scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(g.Input("label", dtype.I32, 4, 1))), graph.Share{Loss: 0.5, Aux: 0.5}, adam.Optimizer(adam.Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	programs["micro-batch"], programs["update"] = micro, update
	if programs["fetched input"], err = graph.Inference(g, x, y); err != nil {
		t.Fatal(err)
	}
	if programs["explicit"], err = two(t, func(first, second *graph.Node) { first.After(second) }); err != nil {
		t.Fatal(err)
	}
	if programs["changed in place"], err = changedInPlace(); err != nil {
		t.Fatal(err)
	}
	if programs["initialization"], err = graph.Initialization(programs["random 1"]); err != nil {
		t.Fatal(err)
	}
	var out []making
	programs["tiles of a convolution"], programs["tiles of random 1"] = programs["convolution"], programs["random 1"]
	for name, prog := range programs {
		for _, workers := range []int{1, 3} {
			out = append(out, making{fmt.Sprintf("%s, %d workers", name, workers), func() (*plan.Plan, error) {
				var opts []planner.Option
				if strings.HasPrefix(name, "tiles") {
					opts = append(opts, planner.Tiled())
				}
				p, err := planner.Build(prog, opts...)
				if err != nil || workers == 1 {
					return p, err
				}
				times := make([]float64, len(p.Tasks)) // some are worth sharing
				for i := range times {
					times[i] = []float64{1e3, 1e5, 20}[i%3]
				}
				return planner.Reschedule(p, planner.Workers(workers), planner.Times(times))
			}, prog, nil})
		}
	}
	for seed := range uint64(16) {
		anything := func() (*plan.Plan, []float64) { return planner.RandomPlan(rand.New(rand.NewPCG(seed, 3)), 25) }
		out = append(out, making{fmt.Sprintf("anything %d", seed), func() (*plan.Plan, error) {
			p, times := anything()
			return planner.Reschedule(p, planner.Workers(1+int(seed%4)), planner.Times(times))
		}, nil, func() []plan.Task {
			p, _ := anything()
			return p.Tasks
		}})
	}
	return out
}

// changedInPlace returns a program with a chain whose first part reads what its second part changes in place.
func changedInPlace() (*graph.Program, error) {
	g := graph.New(6)
	x := linear.Apply(g, linear.Defaults(3).WithUseBias(false), g.Input("x", dtype.F32, 4, 2))
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeSin), x)
	z := elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwMul), elementbinary.LhsInput(x), elementbinary.RhsInput(y))
	return graph.Inference(g, linear.Apply(g, linear.Defaults(2).WithUseBias(false), z))
}

// convolution returns a training step of a small convolutional classifier.
func convolution(t *testing.T) *graph.Program {
	t.Helper()
	g := graph.New(2)
	c := conv2d.Defaults(3, 3, 3)
	c.Activation = activation.Relu
	x := conv2d.Apply(g, c, g.Input("x", dtype.F32, 4, 1, 8, 8))
	pool := pool2d.Defaults(2, 2)
	pool.StrideH, pool.StrideW = 2, 2
	x = flat.Apply(g, flat.Defaults().WithStartDim(1), pool2d.Apply(g, pool, x))
	x = linear.Apply(g, linear.Defaults(4), x)
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(x), scce.Label(g.Input("label", dtype.I32, 4, 1)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.5)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// check returns an error of the checks that a plan passes before it runs.
func (m *making) check(p *plan.Plan) error {
	if err := verify.Plan(p); err != nil {
		return err
	}
	if m.program == nil {
		if !reflect.DeepEqual(p.Tasks, m.tasks()) {
			return fmt.Errorf("want the tasks that were given, got others")
		}
		if p.ArenaBytes > 1<<30 {
			return fmt.Errorf("want an arena that fits into memory, got one of %d bytes", p.ArenaBytes)
		}
		return nil
	}
	if err := validate.Plan(p, m.program); err != nil {
		return err
	}
	_, closed, err := m.load(p)
	closed()
	return err
}

// kernelsOfCatalogue returns the registry of all plans.
var kernelsOfCatalogue = sync.OnceValues(func() (*task.Registry, error) {
	var r task.Registry
	return &r, catalogue.Register(&r)
})

// load loads a plan, and returns what frees it.
func (m *making) load(p *plan.Plan) (*engine.Instance, func() error, error) {
	registry, err := kernelsOfCatalogue()
	if err != nil {
		return nil, func() error { return nil }, err
	}
	e := engine.New(registry, cpu.New(cpu.Config{Workers: p.Schedule.Workers(), Devices: 2}), engine.Config{})
	in, err := e.Load(p)
	return in, e.Close, err
}

// run runs a plan twice and returns a hash of what it leaves in fetched tensors and variables. These begin
// with values that depend on nothing else.
func (m *making) run(p *plan.Plan) (string, error) {
	if m.program == nil {
		out, err := planner.RunRandom(p)
		return digest(bytes.Join(out, nil)), err
	}
	in, closed, err := m.load(p)
	defer closed()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for run := range 2 {
		given := m.program.Fed
		if run == 0 {
			given = slices.Concat(given, m.program.Variables)
		}
		for _, x := range given {
			if err := feed(in, x); err != nil {
				return "", err
			}
		}
		if err := in.Run(context.Background()); err != nil {
			return "", err
		}
		for _, x := range slices.Concat(m.program.Variables, m.program.Fetched) {
			v, err := engine.Fetch[float32](in, x.Name())
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&out, x.Name(), v)
		}
	}
	return digest(out.Bytes()), nil
}

// feed writes elements of a tensor, which depend on its name.
func feed(in *engine.Instance, x graph.Tensor) error {
	n := shape.Prod(x.Shape())
	if x.Type() == dtype.I32 {
		return engine.Feed(in, x.Name(), make([]int32, n))
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = float32((i*7+len(x.Name()))%11)/8 - 0.5
	}
	return engine.Feed(in, x.Name(), data)
}

// prove returns an error unless a plan is right. It proves that apart from the packages verify and validate:
// by looking at all pairs of accesses, and by running the plan.
func (m *making) prove(p *plan.Plan, want string) error {
	if err := planner.Ordered(p); err != nil {
		return err
	}
	got, err := m.run(p)
	if err == nil && got != want {
		err = fmt.Errorf("the plan computes something else")
	}
	return err
}

// made holds the hash of the plan that the planner makes of a making, and that of what the plan computes.
type made struct{ Plan, Result string }

// TestMaker makes plans, which must pass the checks and the proofs. Under test/mutate, it compares plans that
// a planner with a mistake makes with those of the planner as it is, and prints what becomes of each.
func TestMaker(t *testing.T) {
	file, mutant := os.Getenv("OPGEN_MAKINGS"), os.Getenv("OPGEN_MUTANT")
	all := makings(t)
	known := map[string]made{}
	if file == "" || mutant == "0" {
		for _, m := range all {
			p, err := m.make()
			if err == nil {
				err = m.check(p)
			}
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			result, err := m.run(p)
			if err == nil {
				err = m.prove(p, result)
			}
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			known[m.name] = made{sum(t, p), result}
		}
		if file != "" {
			data, err := json.Marshal(known)
			if err == nil {
				err = os.WriteFile(file, data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		p, err := makeSafely(m.make)
		switch {
		case errors.As(err, new(*plan.Error)):
			fmt.Printf("maker: refused: %s: %v\n", m.name, err) // the planner calls the verifier, too
		case err != nil:
			fmt.Printf("maker: none: %s: %v\n", m.name, err)
		case sum(t, p) == known[m.name].Plan:
		default:
			if err := m.check(p); err != nil {
				fmt.Printf("maker: refused: %s: %v\n", m.name, err)
				continue
			}
			fmt.Printf("maker: accepted: %s\n", m.name)
			if err := m.prove(p, known[m.name].Result); err != nil {
				fmt.Printf("maker: wrong: %s: %v\n", m.name, err)
				continue
			}
			fmt.Printf("maker: proved: %s\n", m.name)
		}
	}
	fmt.Println("maker: done")
}

func sum(t *testing.T, p *plan.Plan) string {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return digest(data)
}

func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// makeSafely turns a panic of the planner into an error.
func makeSafely(f func() (*plan.Plan, error)) (p *plan.Plan, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}
