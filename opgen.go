// Package opgen trains and runs networks of generated operators.
//
// A program builds a graph with package graph and the Apply functions of the generated operators. Then it
// opens a session, loads what the graph is for, and runs that step by step:
//
//	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
//		step, err := s.Training(ctx, g, loss, adam.Optimizer(adam.Defaults()))
//		...
//		err = step.Run(ctx, opgen.With(x, inputs), opgen.With(y, labels))
//		...
//		losses, err := opgen.Fetch[float32](step, loss)
//		...
//	})
//
// The example of this package is a whole program. A session holds the variables (weights and what an
// optimizer keeps) by name. All programs of a session share them, so a program for inference answers with the
// weights that a program for training has learned. [Session.SaveVariables] writes them to a file.
//
// [Batches] runs one network for batches of several sizes.
package opgen

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/opgen/opgen/runtime/apart"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// Session runs programs and holds their variables. It is safe for concurrent use; one program runs at a time.
type Session struct {
	engine   *engine.Engine
	registry *task.Registry
	fuse     bool
	tiled    bool
	planning []planner.Option

	mu        sync.Mutex
	variables map[string]graph.Tensor // one for each name
	counters  map[string]*counter
	ranks     *ranked // nil for a session by itself
}

type options struct {
	workers  int
	devices  int
	checked  bool
	backend  engine.Backend
	config   engine.Config
	fuse     bool
	tiled    bool
	tuned    string
	planning []planner.Option
	register []func(*task.Registry) error
	ranks    func() (ranks.Transport, error)
}

// Option changes how Open makes a session.
type Option func(*options)

// Backend runs programs on a backend, which then belongs to the session. Without it, the CPUs of this machine
// run them.
func Backend(b engine.Backend) Option { return func(o *options) { o.backend = b } }

// Workers sets how many workers run programs on the CPUs of this machine, unless Backend gives another
// backend. By default it is the number of CPUs that Go may use. Results do not depend on it.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Devices sets how many devices programs may use on the CPUs of this machine, unless Backend gives another
// backend. By default it is 1, or the number of ranks. Each device has memory of its own, and workers run the
// tasks of all of them. With Ranks it is the number of devices of all ranks together.
func Devices(n int) Option { return func(o *options) { o.devices = n } }

// Checked checks that kernels do what their specs say, unless Backend gives another backend. It is for tests,
// since programs run many times slower. Results are the same. A kernel that breaks a rule stops the run;
// the *engine.TaskError wraps a *checked.Error for each rule and slot. Package checked lists the rules.
func Checked() Option { return func(o *options) { o.checked = true } }

// MemoryLimit bounds the bytes of all tensors. Loading a program that needs more is an error. Memory that
// tasks need only while they run, for tensors within a formula and copies of factors, is not counted.
func MemoryLimit(bytes int64) Option { return func(o *options) { o.config.MemoryLimit = bytes } }

// CheckIndices tests the indices that a program is given before each run, such as the labels of a loss or the
// rows of an embedding: a value that is no index is an error that names the operator, the slot and the
// element. Specs say which inputs are indices, and their bounds, by the key below. Without it, a run takes no
// time for this.
func CheckIndices() Option { return func(o *options) { o.config.Indices = true } }

// Profile measures the time of every task, for Program.Timings.
func Profile() Option { return func(o *options) { o.config.Profile = true } }

// Observe shows every task to an observer, such as a profile.Recorder.
func Observe(observer engine.Observer) Option {
	return func(o *options) { o.config.Observer = observer }
}

// Register adds the operators of another catalogue, such as that of the program's own module.
func Register(register func(*task.Registry) error) Option {
	return func(o *options) { o.register = append(o.register, register) }
}

// Fuse fuses pairs of operators in every program, as package fuse does. Results stay within the tolerances
// that the specs of the operators give, but may differ in rounding.
func Fuse() Option { return func(o *options) { o.fuse = true } }

// Plain gives every tensor memory of its own and lets every task run by itself, which is slower. Results are
// the same.
func Plain() Option { return func(o *options) { o.planning = append(o.planning, planner.Plain()) } }

// Tiled cuts tasks into tiles that are tasks of their own, as the formulas and the specs of operators say: a
// tile waits for the tiles whose elements it touches, and not for whole tasks. Tasks that take a few
// microseconds stay whole. Results are the same. Programs for GPUs are cut only where specs say so.
func Tiled() Option {
	return func(o *options) { o.tiled, o.planning = true, append(o.planning, planner.Tiled(), planner.Paying()) }
}

// Tuned plans programs with the choices of a file that opgen tune has written: those that were measured on
// this machine's processor and with as many workers. Others do not count. Results are the same. A mistake in
// the file is an error of Open, with its place. It needs the CPUs of this machine, and no Ranks, since all
// ranks have one plan.
func Tuned(file string) Option { return func(o *options) { o.tuned = file } }

// Timing is the time that a task took over all runs.
type Timing = engine.Timing

// Usage is the memory of tensors, in bytes.
type Usage = engine.Usage

// Open returns a session for the operators of a catalogue: register is the Register function of a generated
// package catalogue. Close the session to free its memory and to stop its workers. If Open fails, it closes
// what options gave to the session: a Backend, and the transport of Ranks.
func Open(register func(*task.Registry) error, opts ...Option) (_ *Session, err error) {
	o := options{register: []func(*task.Registry) error{register}}
	for _, opt := range opts {
		opt(&o)
	}
	var joined *ranked
	defer func() {
		if err == nil {
			return
		}
		if o.backend != nil {
			err = errors.Join(err, o.backend.Close())
		}
		err = errors.Join(err, joined.close())
	}()
	if joined, err = o.open(); err != nil {
		return nil, err
	}
	var table *tuned.Table
	if o.tuned != "" {
		if table, err = o.table(); err != nil {
			return nil, err
		}
	}
	if o.backend == nil {
		config := cpu.Config{Workers: o.workers, Devices: o.devices}
		if joined != nil {
			config.Devices, config.Ranks = joined.mine, joined.Link
		}
		if o.checked {
			o.backend = checked.New(config)
		} else {
			o.backend = cpu.New(config)
		}
	}
	var registry task.Registry
	for _, register := range o.register {
		if register == nil {
			return nil, errors.New("opgen: want the function Register of a catalogue, got nil")
		}
		if err := register(&registry); err != nil {
			return nil, err
		}
	}
	if table != nil {
		on := tuned.Device{Processor: tuned.Processor(), Workers: o.backend.Workers()}
		o.planning = append(o.planning, planner.Tuned(table.For(on)))
	}
	return &Session{
		engine:    engine.New(&registry, o.backend, o.config),
		registry:  &registry,
		fuse:      o.fuse,
		tiled:     o.tiled,
		planning:  o.planning,
		variables: map[string]graph.Tensor{},
		counters:  map[string]*counter{},
		ranks:     joined,
	}, nil
}

// table reads the file of Tuned.
func (o *options) table() (*tuned.Table, error) {
	switch {
	case o.backend != nil:
		return nil, errors.New("opgen: want Tuned for the CPUs of this machine, got another backend")
	case o.ranks != nil:
		return nil, errors.New("opgen: want Tuned without Ranks, since all ranks have one plan, got both")
	}
	t, err := tuned.Read(o.tuned)
	if err != nil {
		return nil, fmt.Errorf("opgen: %w", err)
	}
	return t, nil
}

// lock locks the session. A kernel or a callback that its engine waits for, such as an observer, must not
// wait for the session.
func (s *Session) lock() error {
	switch {
	case s == nil || s.engine == nil:
		return errors.New("opgen: want a session that Open has made, got none")
	case s.mu.TryLock():
		return nil
	case s.engine.Inside():
		return errors.New("opgen: want a call from outside, got one by a kernel or a callback that the session is waiting for")
	}
	s.mu.Lock()
	return nil
}

// Do opens a session, calls f with it, and closes it. The error joins those of all three.
func Do(register func(*task.Registry) error, f func(*Session) error, opts ...Option) (err error) {
	s, err := Open(register, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s)
}

// Close unloads the programs and frees the variables. Using the session or its programs afterwards is an
// error.
func (s *Session) Close() error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return errors.Join(s.engine.Close(), s.ranks.close())
}

// Memory returns how much memory the tensors of the session take: those that MemoryLimit counts.
func (s *Session) Memory() Usage { return s.engine.Memory() }

// Training loads the program of one training step: it computes the scalar loss and its gradients, and updates
// every trainable weight that the loss depends on. The loss and the given tensors can be fetched after a
// step. Package graph says more, and has other programs to Load.
func (s *Session) Training(ctx context.Context, g *graph.Graph, loss graph.Tensor, optimizer graph.Optimizer, fetch ...graph.Tensor) (*Program, error) {
	p, err := graph.Training(g, loss, optimizer, fetch...)
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, p)
}

// Inference loads the program that computes the given tensors with the weights of the session. Operators that
// behave otherwise in training, such as dropout, are applied as their specs say for inference.
func (s *Session) Inference(ctx context.Context, g *graph.Graph, fetch ...graph.Tensor) (*Program, error) {
	p, err := graph.Inference(g, fetch...)
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, p)
}

// Load plans a program and loads it. Variables of the program that the session does not have yet get their
// first values, as the specs of the operators say. Inputs and fetched tensors may live in memory of the
// caller: see In.
func (s *Session) Load(ctx context.Context, prog *graph.Program, memory ...Memory) (*Program, error) {
	if prog == nil {
		return nil, errors.New("opgen: want a program, got nil")
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.load(ctx, prog, s.counter(prog.Name), memory...)
}

// load is Load for a caller that holds the lock. The runs of the program count in c.
func (s *Session) load(ctx context.Context, prog *graph.Program, c *counter, memory ...Memory) (p *Program, err error) {
	defer func() { err = s.ranks.fail(err) }()
	outside, err := s.places(prog, memory)
	if err != nil {
		return nil, err
	}
	if s.fuse {
		if prog, _, err = fuse.Program(prog); err != nil {
			return nil, err
		}
	}
	if s.tiled {
		prog = apart.Program(prog)
	}
	if err := s.initialize(ctx, prog); err != nil {
		return nil, err
	}
	in, err := s.instance(prog, outside...)
	if err != nil {
		return nil, err
	}
	c.used = true
	for _, v := range prog.Variables {
		s.variables[v.Name()] = v
	}
	return &Program{session: s, graph: prog, instance: in, counter: c}, nil
}

// initialize gives variables of a program that nothing has written their first values.
func (s *Session) initialize(ctx context.Context, prog *graph.Program) error {
	fresh := &graph.Program{}
	for _, v := range prog.Variables {
		if !s.written(v) {
			fresh.Variables = append(fresh.Variables, v)
		}
	}
	if len(fresh.Variables) == 0 {
		return nil
	}
	first, err := graph.Initialization(fresh)
	if err != nil {
		return err
	}
	in, err := s.instance(first)
	if err != nil {
		return err
	}
	if err := errors.Join(s.run(ctx, in), in.Close()); err != nil {
		return err
	}
	for _, v := range fresh.Variables {
		s.ranks.note(v)
	}
	return nil
}

// written reports whether something has written a variable, on whatever rank it is.
func (s *Session) written(v graph.Tensor) bool {
	if s.ranks.elsewhere(v.Device()) {
		return s.ranks.written[v.Name()]
	}
	return s.engine.Written(v.Name())
}

// instance plans a program and loads the plan.
func (s *Session) instance(prog *graph.Program, outside ...engine.Outside) (*engine.Instance, error) {
	opts := append(s.engine.Options(), s.planning...)
	if s.ranks != nil {
		opts = append(opts, planner.Workers(1)) // the same on all ranks
	}
	p, err := planner.Build(prog, opts...)
	if err != nil {
		return nil, err
	}
	if p, err = s.ranks.part(p, s.engine.Options()); err != nil {
		return nil, err
	}
	return s.engine.Load(p, outside...)
}

// counter counts the runs of a program, or of the programs of a Batches: the steps, on which the corrections
// of an optimizer and what dropout draws depend.
type counter struct {
	steps uint64
	used  bool // by a loaded program
}

// counter returns the first counter of the given name that no loaded program uses: the n-th program of a name
// has the n-th counter, also in a session that loads the variables of this one.
func (s *Session) counter(name string) *counter {
	for n := 1; ; n++ {
		key := fmt.Sprintf("%s %d", name, n)
		if s.counters[key] == nil {
			s.counters[key] = &counter{}
		}
		if c := s.counters[key]; !c.used {
			return c
		}
	}
}
