package onnx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// folder computes the constants of a network, on an engine of its own that it makes when it needs one.
type folder struct {
	m      *Model
	engine *engine.Engine
	left   int64 // bytes of constants that it may still compute
	// stored holds the tensors of the file that were read, by their messages: a graph or a function that is
	// inserted several times has them once.
	stored map[any]*value
}

func newFolder(m *Model) *folder {
	return &folder{m: m, left: maxConstants, stored: map[any]*value{}}
}

// maxConstant bounds the bytes of a constant that is computed, and of what it is computed from. maxConstants
// bounds those of all constants of a network that are computed.
const (
	maxConstant  = 1 << 28
	maxConstants = int64(1 << 32)
)

// maxTime bounds how long the computation of a constant takes. An attribute may ask for more work than the
// bytes of tensors say, such as a window that lies almost all in the padding.
const maxTime = time.Minute

// maxRow bounds how many nodes stand behind each other between a constant and what the file holds: they are
// computed by recursion.
const maxRow = 1 << 12

// rowOf returns how many nodes stand behind each other in front of a node of constants, and with it.
func rowOf(c *call) int {
	row := 0
	for _, v := range c.inputs {
		if v != nil && v.later != nil && v.data == nil {
			row = max(row, v.later.row)
		}
	}
	return row + 1
}

func (f *folder) close() {
	if f.engine != nil {
		_ = f.engine.Close() // all that it had to compute was computed
	}
}

// value computes the elements of a constant, if they are not known yet.
func (f *folder) value(v *value) error {
	if v.data != nil {
		return nil
	}
	if v.sequence != nil {
		return fmt.Errorf("want a tensor, got %v", v.sequence)
	}
	if v.later == nil {
		return errors.New("want a constant, got what is known in a run only")
	}
	b := newBuilder(f, graph.New(0))
	b.wanted = v
	b.fed = map[string]*safetensors.Tensor{}
	t, err := b.tensorOf(v)
	if err != nil {
		return err
	}
	if v.data != nil {
		return nil // the node gave it, as Shape does
	}
	if err := f.bounded(b.g); err != nil {
		return err
	}
	if f.left -= int64(t.Elements()) * int64(t.Type().Size()); f.left < 0 {
		return fmt.Errorf("want at most %d bytes of constants that follow from others", maxConstants)
	}
	p, err := graph.Inference(b.g, t)
	if err != nil {
		return err
	}
	data, shape, err := f.run(p, b.fed, t.Name())
	if err != nil {
		return err
	}
	v.data = &safetensors.Tensor{Type: t.Type(), Shape: shape, Data: data}
	return nil
}

// bounded refuses a graph of constants that holds a large tensor.
func (f *folder) bounded(g *graph.Graph) error {
	for _, n := range g.Nodes() {
		for slot := range n.Op.Slots {
			for _, t := range n.Tensors(slot) {
				if t.Valid() && t.Elements() > maxConstant/max(t.Type().Size(), 1) {
					return fmt.Errorf("want a constant of at most %d bytes, got %v", maxConstant, t)
				}
			}
		}
	}
	return nil
}

// run runs a program once and returns a tensor, of the rows that count.
func (f *folder) run(p *graph.Program, fed map[string]*safetensors.Tensor, name string) (data []byte, shape []int, err error) {
	in, err := f.load(p)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for _, t := range p.Fed {
		if err := in.FeedBytes(t.Name(), fed[t.Name()].Data); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), maxTime, fmt.Errorf("want a constant that takes at most %v to compute", maxTime))
	defer cancel()
	if err := in.Run(ctx); err != nil {
		return nil, nil, err
	}
	if shape, err = in.Shape(name); err != nil {
		return nil, nil, err
	}
	data, err = in.FetchBytes(name)
	return data, shape, err
}

// load plans a program and loads it.
func (f *folder) load(p *graph.Program) (*engine.Instance, error) {
	if f.engine == nil {
		r := &task.Registry{}
		if err := f.m.catalogue.Register(r); err != nil {
			return nil, err
		}
		f.engine = engine.New(r, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	}
	plan, err := planner.Build(p, f.engine.Options()...)
	if err != nil {
		return nil, err
	}
	return f.engine.Load(plan)
}
