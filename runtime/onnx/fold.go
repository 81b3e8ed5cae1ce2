package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// folder computes constants, on an engine of its own that it makes when it needs one.
type folder struct {
	register func(*task.Registry) error
	engine   *engine.Engine
}

// maxConstant bounds the bytes of a constant that is computed.
const maxConstant = 1 << 28

func (f *folder) close() {
	if f.engine != nil {
		_ = f.engine.Close() // all that it had to compute was computed
	}
}

// value computes the elements of a constant, if they are not known yet.
func (f *folder) value(m *Model, v *value) error {
	if v.data != nil {
		return nil
	}
	if v.later == nil {
		return errors.New("want a constant, got what is known in a run only")
	}
	b := newBuilder(m, graph.New(0))
	b.fold, b.fed = f, map[string]*safetensors.Tensor{}
	t, err := b.tensorOf(v)
	if err != nil {
		return err
	}
	if v.data != nil {
		return nil // the node gave it, as Shape does
	}
	if t.Elements() > maxConstant/t.Type().Size() {
		return fmt.Errorf("want a constant of at most %d bytes, got %v", maxConstant, t)
	}
	p, err := graph.Inference(b.g, t)
	if err != nil {
		return err
	}
	data, err := f.run(p, b.fed, t.Name())
	if err != nil {
		return err
	}
	v.data = &safetensors.Tensor{Type: t.Type(), Shape: t.Shape(), Data: data}
	return nil
}

// run runs a program once and returns a tensor.
func (f *folder) run(p *graph.Program, fed map[string]*safetensors.Tensor, name string) (data []byte, err error) {
	in, err := f.load(p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for _, t := range p.Fed {
		if err := in.FeedBytes(t.Name(), fed[t.Name()].Data); err != nil {
			return nil, err
		}
	}
	if err := in.Run(context.Background()); err != nil {
		return nil, err
	}
	return in.FetchBytes(name)
}

// load plans a program and loads it.
func (f *folder) load(p *graph.Program) (*engine.Instance, error) {
	if f.engine == nil {
		r := &task.Registry{}
		if err := f.register(r); err != nil {
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
