//go:build cuda

package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/weight"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// figure is what is printed of a use.
type figure struct {
	Group   string  `json:"group"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // the median
	Bytes   float64 `json:"bytes"`   // that it reads and writes
	Flops   float64 `json:"flops"`
}

// meter measures uses.
type meter struct {
	ctx    context.Context
	out    *json.Encoder
	suffix string
	load   bool
}

// use measures a use: how much longer a plan with more of them takes.
func (m *meter) use(u *use) error {
	few, err := m.plan(u, 1)
	if err != nil || m.load {
		return err
	}
	many, err := m.plan(u, 1+u.more)
	if err != nil {
		return err
	}
	if u.group == "launch" { // what a run takes besides its tasks
		if err := m.out.Encode(figure{u.group, "a run of one task" + m.suffix, few, 0, 0}); err != nil {
			return err
		}
	}
	return m.out.Encode(figure{u.group, u.name + m.suffix, (many - few) / float64(u.more), u.bytes, u.flops})
}

// plan returns the seconds that a plan of so many uses takes.
func (m *meter) plan(u *use, uses int) (seconds float64, err error) {
	b, err := cuda.New(cuda.Config{})
	if err != nil {
		return 0, err
	}
	var r task.Registry
	if err := catalogue.RegisterCUDA(&r); err != nil {
		return 0, err
	}
	e := engine.New(&r, b, engine.Config{})
	defer func() { err = errors.Join(err, e.Close()) }()
	g := graph.New(1)
	inputs := u.inputs(g)
	p, err := graph.Inference(g, u.chain(g, inputs, uses)...)
	if err != nil {
		return 0, err
	}
	pl, err := planner.Build(p, e.Options()...)
	if err != nil {
		return 0, err
	}
	in, err := e.Load(pl)
	if err != nil || m.load {
		return 0, err
	}
	for i, x := range inputs {
		name := x.Node().Tensor(int(weight.SlotWeight)).Name()
		if err := e.SetVariableBytes(name, values(u, i)); err != nil {
			return 0, err
		}
	}
	return m.median(func() error { return in.Run(m.ctx) })
}

// median returns the seconds that a call takes, after some to warm up.
func (m *meter) median(call func() error) (float64, error) {
	const most, budget = 200, 300 * time.Millisecond
	var took []float64
	begin := time.Now()
	for i := 0; i < 9 || i < most && time.Since(begin) < budget; i++ {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	took = took[min(3, len(took)-1):]
	slices.Sort(took)
	return took[len(took)/2], nil
}

// values returns the bytes of random elements. Those of the second factor of a product are so small that
// products keep their size.
func values(u *use, input int) []byte {
	n := 1
	for _, d := range u.shapes[input] {
		n *= d
	}
	scale := 1.0
	if u.group == "product" && input == 1 {
		scale = 1.7 / sqrt(u.shapes[input][len(u.shapes[input])-1])
	}
	const pattern = 1<<20 - 3 // repeats at another place of each row
	one := make([]byte, min(n, pattern)*u.typ.Size())
	random := rand.New(rand.NewPCG(1, uint64(input)))
	for i := 0; i < len(one); i += u.typ.Size() {
		v := scale * (2*random.Float64() - 1)
		if packed, ok := u.typ.Packed(); ok {
			packed.Encode(one[i:i+u.typ.Size()], []float32{float32(v)})
		} else {
			u.typ.PutFloat64(one[i:], v)
		}
	}
	all := make([]byte, 0, n*u.typ.Size())
	for len(all) < cap(all) {
		all = append(all, one[:min(len(one), cap(all)-len(all))]...)
	}
	return all
}
