// Beside runs networks as packages that opgen onnx wrote, and as package onnx loads them, and compares all
// bits of their outputs. It prints a line for each difference.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

// network is a network: its file, the folder of its package, and functions of the package.
type network struct {
	model, folder string
	build         any
	load          func(*opgen.Session, string) error
	known         string   // inputs that are given as constants, separated by spaces
	absent        []string // optional inputs that are left out
	sets          []string
	train         bool // whether the package is trained, too
}

func main() {
	runtime.GOMAXPROCS(1)
	failed := false
	for _, n := range networks {
		for _, set := range n.sets {
			if err := n.compare(set); err != nil {
				failed = true
				fmt.Printf("%s, %s: %v\n", n.folder, set, err)
			}
		}
		if n.train {
			if err := n.learn(); err != nil {
				failed = true
				fmt.Printf("%s, training: %v\n", n.folder, err)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Println("compared", len(networks))
}

// compare compares the outputs for the inputs in a file.
func (n *network) compare(set string) error {
	f, err := safetensors.Open(set)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := onnx.Load(n.model, &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries})
	if err != nil {
		return err
	}
	values := map[string]safetensors.Tensor{}
	for _, name := range f.Names() {
		if values[name], err = f.Read(name); err != nil {
			return err
		}
	}
	known := strings.Fields(n.known)
	want, err := n.run(m, values, known, func(s *opgen.Session, g *graph.Graph, x []graph.Tensor) ([]graph.Tensor, func() error, error) {
		inputs, i := map[string]graph.Tensor{}, 0
		var opts []onnx.Option
		for _, p := range m.Inputs() {
			if slices.Contains(known, p.Name) {
				opts = append(opts, onnx.Known(p.Name, values[p.Name]))
				continue
			}
			parts := n.tensors(p, values)
			switch list := x[i : i+len(parts)]; {
			case p.Sequence && !slices.Contains(n.absent, p.Name):
				opts = append(opts, onnx.Sequence(p.Name, list...))
			case len(list) == 0:
				opts = append(opts, onnx.Without(p.Name))
			default:
				inputs[p.Name] = list[0]
			}
			i += len(parts)
		}
		net, err := m.Insert(g, inputs, opts...)
		if err != nil {
			return nil, nil, err
		}
		return net.Outputs, func() error {
			if len(net.Variables) == 0 {
				return nil
			}
			return s.SetVariables(net.Variables)
		}, nil
	})
	if err != nil {
		return fmt.Errorf("loaded: %w", err)
	}
	got, err := n.run(m, values, known, func(s *opgen.Session, g *graph.Graph, x []graph.Tensor) ([]graph.Tensor, func() error, error) {
		outputs, err := n.call(g, x)
		if err != nil {
			return nil, nil, err
		}
		return outputs, func() error {
			if n.load == nil {
				return nil
			}
			return n.load(s, n.folder)
		}, nil
	})
	if err != nil {
		return fmt.Errorf("package: %w", err)
	}
	if len(got) != len(want) {
		return fmt.Errorf("got %d outputs, want %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("output %d: got %d elements, want %d", i, len(got[i]), len(want[i]))
		}
		for k := range want[i] {
			if got[i][k] != want[i][k] {
				return fmt.Errorf("output %d, element %d: got bits %x, want %x", i, k, got[i][k], want[i][k])
			}
		}
	}
	return nil
}

// tensors returns the names of the tensors of an input: those of a sequence have numbers.
func (n *network) tensors(p onnx.Port, values map[string]safetensors.Tensor) (names []string) {
	if !p.Sequence {
		if slices.Contains(n.absent, p.Name) {
			return nil
		}
		return []string{p.Name}
	}
	for {
		name := fmt.Sprintf("%s[%d]", p.Name, len(names))
		if _, ok := values[name]; !ok {
			return names
		}
		names = append(names, name)
	}
}

// call calls the function Build of the package.
func (n *network) call(g *graph.Graph, x []graph.Tensor) ([]graph.Tensor, error) {
	args := []reflect.Value{reflect.ValueOf(g)}
	build := reflect.ValueOf(n.build)
	for len(args) < build.Type().NumIn() {
		arg := reflect.New(build.Type().In(len(args))).Elem()
		if arg.Kind() == reflect.Array {
			for k := range arg.Len() {
				arg.Index(k).Set(reflect.ValueOf(x[k]))
			}
			x = x[arg.Len():]
		} else {
			arg.Set(reflect.ValueOf(x[0]))
			x = x[1:]
		}
		args = append(args, arg)
	}
	out := build.Call(args)
	if err, _ := out[1].Interface().(error); err != nil {
		return nil, err
	}
	return tensorsIn(out[0]), nil
}

// tensorsIn returns the tensors in what Build returns, which may be an array or a struct of both.
func tensorsIn(v reflect.Value) (list []graph.Tensor) {
	switch t, ok := v.Interface().(graph.Tensor); {
	case ok:
		return []graph.Tensor{t}
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			list = append(list, tensorsIn(v.Index(i))...)
		}
	default:
		for i := range v.NumField() {
			list = append(list, tensorsIn(v.Field(i))...)
		}
	}
	return list
}

// learn trains the package to answer 1 everywhere, from its weights on: the loss falls with each step.
func (n *network) learn() error {
	f, err := safetensors.Open(n.sets[0])
	if err != nil {
		return err
	}
	defer f.Close()
	v, err := f.Read(f.Names()[0])
	if err != nil {
		return err
	}
	ctx := context.Background()
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", v.Type, v.Shape...)
		y, err := n.call(g, []graph.Tensor{x})
		if err != nil {
			return err
		}
		if _, err := s.Inference(ctx, g, y...); err != nil {
			return err
		}
		if err := n.load(s, n.folder); err != nil {
			return err
		}
		label := g.Input("label", y[0].Type(), y[0].Shape()...)
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y[0]), meansquarederror.Label(label))
		p, err := s.Training(ctx, g, loss, sgd.Optimizer(sgd.Defaults(0.05)))
		if err != nil {
			return err
		}
		feed, err := with(x, v)
		if err != nil {
			return err
		}
		ones := make([]float32, label.Elements())
		for i := range ones {
			ones[i] = 1
		}
		last := float32(math.Inf(1))
		for range 4 {
			if err := p.Run(ctx, feed, opgen.With(label, ones)); err != nil {
				return err
			}
			got, err := opgen.Fetch[float32](p, loss)
			if err != nil {
				return err
			}
			if !(got[0] < last) {
				return fmt.Errorf("got a loss of %v, want less than %v", got[0], last)
			}
			last = got[0]
		}
		return nil
	}, opgen.Workers(1))
}

// run builds a network, runs it once, and returns the bits of its outputs.
func (n *network) run(m *onnx.Model, values map[string]safetensors.Tensor, known []string, build func(*opgen.Session, *graph.Graph, []graph.Tensor) ([]graph.Tensor, func() error, error)) (bits [][]uint64, err error) {
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		var x []graph.Tensor
		var names []string
		var feeds []opgen.Value
		for i, p := range m.Inputs() {
			if slices.Contains(known, p.Name) {
				continue
			}
			for k, name := range n.tensors(p, values) {
				v := values[name]
				x, names = append(x, g.Input(fmt.Sprintf("value %d.%d", i, k), v.Type, v.Shape...)), append(names, name)
			}
		}
		outputs, load, err := build(s, g, x)
		if err != nil {
			return err
		}
		p, err := s.Inference(context.Background(), g, outputs...)
		if err != nil {
			return err
		}
		if err := load(); err != nil {
			return err
		}
		for i, t := range x {
			if !slices.Contains(p.Graph().Fed, t) {
				continue // the network does not depend on it
			}
			feed, err := with(t, values[names[i]])
			if err != nil {
				return err
			}
			feeds = append(feeds, feed)
		}
		if err := p.Run(context.Background(), feeds...); err != nil {
			return err
		}
		for _, t := range outputs {
			b, err := fetch(p, t)
			if err != nil {
				return err
			}
			bits = append(bits, b)
		}
		return nil
	}, opgen.Workers(1))
	return bits, err
}

// with feeds a tensor.
func with(t graph.Tensor, v safetensors.Tensor) (opgen.Value, error) {
	switch v.Type.GoType() {
	case "bool":
		return feed[bool](t, v)
	case "float32":
		if v.Type != dtype.F32 {
			wide, err := v.As(dtype.F32)
			if err != nil {
				return opgen.Value{}, err
			}
			v = wide
		}
		return feed[float32](t, v)
	case "float64":
		return feed[float64](t, v)
	case "int8":
		return feed[int8](t, v)
	case "int16":
		return feed[int16](t, v)
	case "int32":
		return feed[int32](t, v)
	case "int64":
		return feed[int64](t, v)
	case "uint8":
		return feed[uint8](t, v)
	case "uint16":
		return feed[uint16](t, v)
	case "uint32":
		return feed[uint32](t, v)
	case "uint64":
		return feed[uint64](t, v)
	}
	return opgen.Value{}, errors.New("no such type")
}

func feed[T dtype.Element](t graph.Tensor, v safetensors.Tensor) (opgen.Value, error) {
	list, err := safetensors.Elements[T](v)
	return opgen.With(t, list), err
}

// fetch returns the bits of a tensor.
func fetch(p *opgen.Program, t graph.Tensor) ([]uint64, error) {
	switch t.Type().GoType() {
	case "bool":
		return bitsOf(p, t, func(x bool) uint64 {
			if x {
				return 1
			}
			return 0
		})
	case "float32":
		return bitsOf(p, t, func(x float32) uint64 { return uint64(math.Float32bits(x)) })
	case "float64":
		return bitsOf(p, t, math.Float64bits)
	case "int8":
		return bitsOf(p, t, func(x int8) uint64 { return uint64(x) })
	case "int16":
		return bitsOf(p, t, func(x int16) uint64 { return uint64(x) })
	case "int32":
		return bitsOf(p, t, func(x int32) uint64 { return uint64(x) })
	case "int64":
		return bitsOf(p, t, func(x int64) uint64 { return uint64(x) })
	case "uint8":
		return bitsOf(p, t, func(x uint8) uint64 { return uint64(x) })
	case "uint16":
		return bitsOf(p, t, func(x uint16) uint64 { return uint64(x) })
	case "uint32":
		return bitsOf(p, t, func(x uint32) uint64 { return uint64(x) })
	case "uint64":
		return bitsOf(p, t, func(x uint64) uint64 { return x })
	}
	return nil, errors.New("no such type")
}

func bitsOf[T dtype.Element](p *opgen.Program, t graph.Tensor, of func(T) uint64) ([]uint64, error) {
	list, err := opgen.Fetch[T](p, t)
	var bits []uint64
	for _, x := range list {
		bits = append(bits, of(x))
	}
	return bits, err
}
