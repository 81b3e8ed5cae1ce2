package replicas

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/runtime/safetensors"
)

// Conform runs conformance cases on this rank of several, all of which do so. The operator of a case is on
// the first device and its inputs are on the last, so ranks send both inputs and results in all their types.
// It returns an error unless each case passes. Other ranks than the first have no variables, and not what a
// kernel counts, so cases with these are judged on the first alone. The transport stays open.
// Judged is how many cases were judged.
func Conform(ctx context.Context, cases []*conform.Case, double bool, devices int, t ranks.Transport, opts ...opgen.Option) (judged int, err error) {
	opts = append(slices.Clone(opts), opgen.Devices(devices), opgen.Ranks(open{t}))
	var l *loaded
	r := &conform.Runner{Operators: catalogue.Operators(), Double: double, Load: func(ctx context.Context, p *graph.Program) (conform.Loaded, error) {
		s, err := opgen.Open(catalogue.Register, opts...)
		if err != nil {
			return nil, err
		}
		l = &loaded{session: s, program: apart(p, devices-1)}
		if l.running, err = s.Load(ctx, l.program); err != nil {
			s.Close()
			return nil, err
		}
		return l, nil
	}}
	for _, c := range cases {
		l = nil
		switch res := r.Run(ctx, c); {
		case l != nil && l.elsewhere && t.Rank() > 0:
		case res.Status != conform.Passed:
			return judged, fmt.Errorf("rank %d, %s, double %v: status %d: %s", t.Rank(), c.Name(), double, res.Status, res.Reason)
		default:
			judged++
		}
	}
	return judged, nil
}

// open is a transport that the sessions of several cases use, one after the other.
type open struct{ ranks.Transport }

func (open) Close() error { return nil }

// apart returns the program with its inputs on another device, from which they are copied.
func apart(p *graph.Program, device int) *graph.Program {
	q := *p
	from := graph.OnDevice(0, device)
	q.Fed, q.Steps = nil, nil
	for _, to := range p.Fed {
		in := from.Input(to.Name()+" elsewhere", to.Type(), to.Shape()...)
		q.Fed = append(q.Fed, in)
		q.Steps = append(q.Steps, graph.Step{Phase: graph.Forward, Copy: &graph.Copy{To: to, From: in}})
	}
	q.Steps = append(q.Steps, p.Steps...)
	return &q
}

// loaded is the program of a case in a session of several ranks.
type loaded struct {
	session   *opgen.Session
	program   *graph.Program
	running   *opgen.Program
	values    map[string]opgen.Value // of the next run
	elsewhere bool                   // whether a tensor that was fetched is on another rank
}

// Close closes the session.
func (l *loaded) Close() error { return l.session.Close() }

// input returns what the program is fed with for a tensor of the case, or false.
func (l *loaded) input(name string) (graph.Tensor, bool) {
	for i, t := range l.program.Fed {
		if l.program.Steps[i].Copy.To.Name() == name {
			return t, true
		}
	}
	return named(name, l.program.Variables)
}

func named(name string, among ...[]graph.Tensor) (graph.Tensor, bool) {
	for _, ts := range among {
		if i := slices.IndexFunc(ts, func(t graph.Tensor) bool { return t.Name() == name }); i >= 0 {
			return ts[i], true
		}
	}
	return graph.Tensor{}, false
}

// Uses reports whether the program has an input or a variable.
func (l *loaded) Uses(name string) bool {
	_, ok := l.input(name)
	return ok
}

// FeedBytes sets an input or a variable for the next run.
func (l *loaded) FeedBytes(name string, data []byte) error {
	t, ok := l.input(name)
	if !ok {
		return fmt.Errorf("want an input, got %s", name)
	}
	v, err := value(t, data)
	if l.values == nil {
		l.values = map[string]opgen.Value{}
	}
	l.values[name] = v
	return err
}

// Run runs the program with the values that it was fed.
func (l *loaded) Run(ctx context.Context) error {
	var values []opgen.Value
	for name, v := range l.values {
		values = append(values, v)
		if _, variable := named(name, l.program.Variables); variable {
			delete(l.values, name) // variables keep their values, inputs need one in every run
		}
	}
	return l.running.Run(ctx, values...)
}

// FetchBytes returns a result. What is on another rank is 0.
func (l *loaded) FetchBytes(name string) ([]byte, error) {
	t, ok := named(name, l.program.Fetched, l.program.Variables)
	if !ok {
		return nil, fmt.Errorf("want a result, got %s", name)
	}
	if _, err := l.running.Shape(t); err != nil {
		l.elsewhere = true
		return make([]byte, t.Operand().Bytes()), nil
	}
	return fetched(l.running, t)
}

// Shape returns the shape of a result.
func (l *loaded) Shape(name string) ([]int, error) {
	t, _ := named(name, l.program.Fetched, l.program.Variables)
	if l.elsewhere {
		return t.Shape(), nil
	}
	return l.running.Shape(t)
}

// value returns a value for a tensor, from the bytes of its elements.
func value(t graph.Tensor, data []byte) (opgen.Value, error) {
	switch t.Type() {
	case dtype.Bool:
		return with[bool](t, data)
	case dtype.I8:
		return with[int8](t, data)
	case dtype.I16:
		return with[int16](t, data)
	case dtype.I32:
		return with[int32](t, data)
	case dtype.I64:
		return with[int64](t, data)
	case dtype.U8:
		return with[uint8](t, data)
	case dtype.U16:
		return with[uint16](t, data)
	case dtype.U32:
		return with[uint32](t, data)
	case dtype.U64:
		return with[uint64](t, data)
	case dtype.F64:
		return with[float64](t, data)
	default: // a session takes real numbers of 16 bits as float32
		f, err := safetensors.Tensor{Type: t.Type(), Shape: t.Shape(), Data: data}.As(dtype.F32)
		if err != nil {
			return opgen.Value{}, err
		}
		return with[float32](t, f.Data)
	}
}

func with[T dtype.Element](t graph.Tensor, data []byte) (opgen.Value, error) {
	elements := make([]T, t.Elements())
	_, err := binary.Decode(data, binary.NativeEndian, elements)
	return opgen.With(t, elements), err
}

// fetched returns the bytes of the elements of a result.
func fetched(p *opgen.Program, t graph.Tensor) ([]byte, error) {
	switch t.Type() {
	case dtype.Bool:
		return bytes[bool](p, t)
	case dtype.I8:
		return bytes[int8](p, t)
	case dtype.I16:
		return bytes[int16](p, t)
	case dtype.I32:
		return bytes[int32](p, t)
	case dtype.I64:
		return bytes[int64](p, t)
	case dtype.U8:
		return bytes[uint8](p, t)
	case dtype.U16:
		return bytes[uint16](p, t)
	case dtype.U32:
		return bytes[uint32](p, t)
	case dtype.U64:
		return bytes[uint64](p, t)
	case dtype.F64:
		return bytes[float64](p, t)
	default:
		data, err := bytes[float32](p, t)
		if err != nil {
			return nil, err
		}
		shape, err := p.Shape(t)
		if err != nil {
			return nil, err
		}
		f, err := safetensors.Tensor{Type: dtype.F32, Shape: shape, Data: data}.As(t.Type())
		return f.Data, err
	}
}

func bytes[T dtype.Element](p *opgen.Program, t graph.Tensor) ([]byte, error) {
	elements, err := opgen.Fetch[T](p, t)
	if err != nil {
		return nil, err
	}
	return binary.Append(nil, binary.NativeEndian, elements)
}
