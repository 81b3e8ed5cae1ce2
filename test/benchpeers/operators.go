package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// figure is a time of this module beside that of a peer, in nanoseconds.
type figure struct{ own, peer float64 }

func (f figure) ratio() float64 { return f.own / f.peer }

// row is the figures of one use: forward, and forward and backward. The second is zero if there is no
// gradient.
type row struct {
	title         string
	forward, both figure
	// views says that the peer computes no gradient, but returns views of what it is given.
	views bool
	// limits are what the machine allows at best: forward, and forward and backward.
	limits [2]limit
	memory figure // bytes
}

// bench measures this module beside a peer with a number of threads.
type bench struct {
	tasks   *task.Registry
	peer    *peer
	python  string       // that has PyTorch
	machine cost.Machine // for these threads
	threads int
	rounds  int
	budget  time.Duration // of a round of one figure
	dir     string
}

// operator measures a use. The peer computes the same outputs of the same inputs first.
func (b *bench) operator(u use) (row, error) {
	o := u.operator()
	if o == nil {
		return row{}, fmt.Errorf("there is no operator %s", u.op)
	}
	bound, err := taskbench.New(&o.Operator, u.attrs, u.shapes, u.least, b.threads)
	if err != nil {
		return row{}, err
	}
	u.fillIn(o, bound)
	c, err := b.files(o, bound)
	if err != nil {
		return row{}, err
	}
	c.Do, c.Setup, c.Torch = "operator", u.setup, u.torch
	var forward, backward []taskbench.Step
	var limits [2]limit
	for i, s := range o.Signatures {
		switch s.Kind {
		case task.KindForward, task.KindUpdate:
			forward, err = bound.Bind(i, b.tasks)
			limits[0] = newLimit(b.machine, bound, i)
		case task.KindBackward:
			backward, err = bound.Bind(i, b.tasks)
			limits[1] = newLimit(b.machine, bound, i)
		}
		if err != nil {
			return row{}, err
		}
	}
	if backward == nil {
		c.Trained = nil
	}
	peer, err := b.peer.ask(c)
	if err != nil {
		return row{}, err
	}
	if err := runAll(forward); err != nil {
		return row{}, err
	}
	if sum := outputs(o, bound); !u.unequal && math.Abs(sum-peer.Sum) > 1e-3*math.Abs(peer.Sum)+1e-3 {
		return row{}, fmt.Errorf("%s: the absolute values of the outputs sum to %v, those of the peer to %v", u.title(), sum, peer.Sum)
	}
	limits[1] = limits[0].and(limits[1])
	r := row{title: u.title(), views: peer.Views, limits: limits}
	r.forward, err = b.pair("forward", func() error { return runAll(forward) })
	if err != nil || len(c.Trained) == 0 {
		return r, err
	}
	r.both, err = b.pair("both", func() error { return runAll(forward, backward) })
	return r, err
}

// operator returns the operator, or nil if there is none.
func (u *use) operator() *graph.Operator {
	all := catalogue.Operators()
	if u.formulas {
		all = more
	}
	i := slices.IndexFunc(all, func(o *graph.Operator) bool { return o.Name == u.op })
	if i < 0 {
		return nil
	}
	return all[i]
}

// fillIn gives slots the elements that the use says.
func (u *use) fillIn(o *graph.Operator, bound *taskbench.Use) {
	for slot, s := range o.Slots {
		f := u.fill[s.Name]
		if f == nil {
			continue
		}
		for _, m := range bound.Memory(slot, false) {
			for i := range len(m.Bytes) / m.Type.Size() {
				switch at := m.Bytes[i*m.Type.Size():]; m.Type {
				case dtype.F32:
					drawn := math.Float32frombits(binary.LittleEndian.Uint32(at))
					binary.LittleEndian.PutUint32(at, math.Float32bits(float32(f(i, float64(drawn)))))
				case dtype.I64:
					binary.LittleEndian.PutUint64(at, uint64(int64(f(i, float64(binary.LittleEndian.Uint64(at))))))
				}
			}
		}
	}
}

// runAll runs tasks one after the other.
func runAll(tasks ...[]taskbench.Step) error {
	for _, steps := range tasks {
		for _, s := range steps {
			if err := s.Run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// files writes the inputs and weights of an operator to files.
func (b *bench) files(o *graph.Operator, u *taskbench.Use) (c command, err error) {
	for slot, s := range o.Slots {
		if s.Role != task.RoleInput && s.Role != task.RoleWeight {
			continue
		}
		for i, m := range u.Memory(slot, false) {
			t := tensorFile{Name: s.Name, File: filepath.Join(b.dir, fmt.Sprint(slot, "-", i)), Type: m.Type.String(), Shape: m.Shape}
			if s.Variadic {
				t.Name = fmt.Sprintf("%s_%d", s.Name, i)
			}
			c.Tensors = append(c.Tensors, t)
			if s.Trainable && m.Type.IsFloat() {
				c.Trained = append(c.Trained, t.Name)
			}
			if err := os.WriteFile(t.File, m.Bytes, 0o666); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// outputs returns the sum of the absolute values of all outputs, or of the first one if others hold integers.
func outputs(o *graph.Operator, u *taskbench.Use) (sum float64) {
	for slot, s := range o.Slots {
		if s.Role != task.RoleOutput {
			continue
		}
		for _, m := range u.Memory(slot, false) {
			switch m.Type {
			case dtype.F32:
				sum += absolute[float32](m.Bytes)
			case dtype.F64:
				sum += absolute[float64](m.Bytes)
			case dtype.I64:
				if s.Name != "indices" {
					sum += absolute[int64](m.Bytes)
				}
			case dtype.Bool:
				for _, v := range m.Bytes {
					sum += float64(v)
				}
			}
		}
	}
	return sum
}

// absolute returns the sum of the absolute values of little endian elements.
func absolute[T float32 | float64 | int64](data []byte) (sum float64) {
	x := make([]T, len(data)/binary.Size(T(0)))
	if _, err := binary.Decode(data, binary.LittleEndian, x); err != nil {
		return math.NaN()
	}
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return sum
}

// pair measures a function and a command of the peer in turn.
func (b *bench) pair(do string, own func() error) (figure, error) {
	best := figure{math.Inf(1), math.Inf(1)}
	begin := time.Now()
	for round := range b.rounds {
		if b.threads > 1 {
			time.Sleep(settle)
		}
		ns, err := fastest(own, b.budget)
		if err != nil {
			return best, err
		}
		a, err := b.peer.ask(command{Do: do, Budget: b.budget.Seconds()})
		if err != nil {
			return best, err
		}
		best = figure{min(best.own, ns), min(best.peer, a.NS)}
		if round > 0 && time.Since(begin) > 3*time.Duration(b.rounds)*b.budget {
			break
		}
	}
	return best, nil
}

// settle is how long the threads of the peer may wait for work without sleep after they have run.
const settle = 20 * time.Millisecond

// fastest returns the least nanoseconds of as many runs as fit the time, at least three.
func fastest(run func() error, budget time.Duration) (float64, error) {
	best := math.Inf(1)
	begin := time.Now()
	for n := 1; ; n++ {
		before := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		best = min(best, float64(time.Since(before).Nanoseconds()))
		if n >= 3 && time.Since(begin) > budget {
			return best, nil
		}
	}
}
