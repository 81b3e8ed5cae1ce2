package opgen_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/nonzero"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/test/replicas"
)

// conformEvery is of how many conformance cases TestRanksConform runs one.
const conformEvery = 4

var rankPrograms = flag.Int("rank-programs", 60, "number of random programs that TestRandomRanks runs")

// late is a transport that sleeps before some messages, as chance decides.
type late struct {
	ranks.Transport
	mu sync.Mutex
	r  *rand.Rand
}

func (l *late) sleep() {
	l.mu.Lock()
	d := l.r.IntN(4)
	l.mu.Unlock()
	if d > 1 {
		time.Sleep(time.Duration(d) * 100 * time.Microsecond)
	}
}

func (l *late) Send(to int, data []byte) ranks.Transfer {
	l.sleep()
	return l.Transport.Send(to, data)
}

func (l *late) Receive(from int, data []byte) ranks.Transfer {
	l.sleep()
	return l.Transport.Receive(from, data)
}

// onRanks calls f with a session for each of some ranks, side by side, and returns the error of each.
func onRanks(n int, f func(rank int, s *opgen.Session) error, opts ...opgen.Option) []error {
	errs := make([]error, n)
	var done sync.WaitGroup
	for rank, t := range ranks.Local(n) {
		done.Go(func() {
			errs[rank] = opgen.Do(catalogue.Register, func(s *opgen.Session) error { return f(rank, s) }, append(opts, opgen.Ranks(t))...)
		})
	}
	done.Wait()
	return errs
}

// TestRandomRanks runs random programs in one session, and on one to four ranks that chance makes late:
// results and variables have the same bits, and no rank waits for ever.
func TestRandomRanks(t *testing.T) {
	t.Parallel()
	programs := *rankPrograms
	if testing.Short() {
		programs /= 6 // for the race detector, which make property lets watch more of them
	}
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 1 + r.IntN(4)
		devices := n + r.IntN(3)
		var opts []opgen.Option
		switch r.IntN(8) {
		case 0, 1:
			opts = append(opts, opgen.Tiled())
		case 2:
			opts = append(opts, opgen.Plain(), opgen.Fuse())
		case 3:
			opts = append(opts, opgen.Checked())
		}
		var done sync.WaitGroup
		for rank, transport := range ranks.Local(n) {
			mine := append(slices.Clone(opts), opgen.Workers(1+r.IntN(3)))
			late := &late{Transport: transport, r: rand.New(rand.NewPCG(seed, uint64(rank)))}
			done.Go(func() {
				if err := replicas.Compare(seed, devices, late, mine...); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		done.Wait()
		if t.Failed() {
			return
		}
	}
}

// TestRanksConform runs conformance cases on two to four ranks, with the operator and its inputs on different
// ones. Make mpi has all cases on MPI.
func TestRanksConform(t *testing.T) {
	t.Parallel()
	cases, _, err := conform.LoadAll(conform.Cases())
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= 4; n++ {
		var some []*conform.Case
		for i, c := range cases {
			if i%(3*conformEvery) == n-2 {
				some = append(some, c)
			}
		}
		judged := make([]int, n)
		var done sync.WaitGroup
		for rank, transport := range ranks.Local(n) {
			done.Go(func() {
				var err error
				if judged[rank], err = replicas.Conform(t.Context(), some, n == 3, 4, transport, opgen.Workers(1)); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if judged[0] != len(some) || judged[n-1] < len(some)/2 {
			t.Errorf("%d ranks judged %v of %d cases, want all on the first and half on the others", n, judged, len(some))
		}
	}
}

// TestRankFails ends programs by an error on one rank: all ranks return its message.
func TestRankFails(t *testing.T) {
	t.Parallel()
	prog := func() *graph.Program {
		p, err := replicas.Chain(3, 5, 3)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	canceled, cancel := context.WithCancelCause(context.Background())
	for name, tt := range map[string]struct {
		fails func(s *opgen.Session, prog *graph.Program, p *opgen.Program) error // on rank 1
		want  string
	}{
		"no input": {func(_ *opgen.Session, _ *graph.Program, p *opgen.Program) error { return p.Run(context.Background()) }, "x@1"},
		"canceled": {func(_ *opgen.Session, prog *graph.Program, p *opgen.Program) error {
			time.Sleep(40 * time.Millisecond) // others wait for this rank
			cancel(errors.New("enough"))
			return p.Run(canceled, replicas.Inputs(prog, 0)...)
		}, "enough"},
		"another program": {func(s *opgen.Session, prog *graph.Program, p *opgen.Program) error {
			_, err := s.Load(context.Background(), prog)
			return err
		}, "want"},
		"closed": {func(s *opgen.Session, prog *graph.Program, p *opgen.Program) error { return errors.New("ended before") }, "ended before"},
	} {
		errs := onRanks(3, func(rank int, s *opgen.Session) error {
			prog := prog()
			p, err := s.Load(context.Background(), prog)
			if err != nil {
				return err
			}
			if rank == 1 {
				return tt.fails(s, prog, p)
			}
			return p.Run(context.Background(), replicas.Inputs(prog, 0)...)
		}, opgen.Devices(3), opgen.Workers(2))
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: rank %d returns %v", name, rank, err)
			}
			if e := (*ranks.Error)(nil); rank != 1 && name != "another program" && (!errors.As(err, &e) || e.Rank != 1) {
				t.Errorf("%s: rank %d does not say that rank 1 failed: %v", name, rank, err)
			}
		}
	}
}

// TestRankKernelFails ends a program by an error of a kernel while another worker of its rank waits for a
// message.
func TestRankKernelFails(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 3; workers++ {
		errs := onRanks(2, func(rank int, s *opgen.Session) error {
			var replica []graph.Replica
			var values []opgen.Value
			for d := range 2 {
				g := graph.OnDevice(1, d)
				x, label := g.Input("x", dtype.F32, 64, 256), g.Input("label", dtype.I32, 64, 1)
				y := linear.Apply(g, linear.Defaults(256), x, graph.Named("a"))
				y = linear.Apply(g, linear.Defaults(4), y, graph.Named("b"))
				loss := scce.Apply(g, scce.Defaults(), scce.Logit(y), scce.Label(label), graph.Named("loss"))
				replica = append(replica, graph.Replica{Loss: loss, Share: graph.Share{Loss: 0.5, Aux: 0.5}})
				values = append(values, opgen.With(x, make([]float32, 64*256)), opgen.With(label, slices.Repeat([]int32{int32(d * 99)}, 64)))
			}
			prog, err := graph.DataParallel(replica, sgd.Optimizer(sgd.Defaults(0.1)))
			if err != nil {
				return err
			}
			p, err := s.Load(context.Background(), prog)
			if err != nil {
				return err
			}
			return p.Run(context.Background(), values...)
		}, opgen.Workers(workers))
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "loss@1") {
				t.Errorf("%d workers: rank %d returns %v", workers, rank, err)
			}
		}
	}
}

// TestRankCounts fetches a tensor of which a kernel decides how many rows count: only its rank knows them.
func TestRankCounts(t *testing.T) {
	t.Parallel()
	for _, err := range onRanks(2, func(rank int, s *opgen.Session) error {
		prog := &graph.Program{Name: "found"}
		var found []nonzero.Outputs
		for d := range 2 {
			g := graph.OnDevice(1, d)
			found = append(found, nonzero.Apply(g, nonzero.Defaults(), g.Input("x", dtype.F32, 4)))
			p, err := graph.Inference(g, found[d].Output)
			if err != nil {
				return err
			}
			prog.Steps, prog.Fed, prog.Fetched = append(prog.Steps, p.Steps...), append(prog.Fed, p.Fed...), append(prog.Fetched, p.Fetched...)
		}
		p, err := s.Load(context.Background(), prog)
		if err != nil {
			return err
		}
		if err := p.Run(context.Background(), opgen.With(prog.Fed[0], []float32{0, 1, 0, 2}), opgen.With(prog.Fed[1], []float32{0, 1, 3, 2})); err != nil {
			return err
		}
		for d, want := range []string{"[1 3]", "[1 2 3]"} {
			got, err := opgen.Fetch[int64](p, found[d].Output)
			shape, errShape := p.Shape(found[d].Output)
			text := fmt.Sprintf("want a tensor of rank %d, got nonzero", rank)
			switch {
			case d == rank && (err != nil || errShape != nil || fmt.Sprint(got) != want || shape[0] != len(got)):
				return fmt.Errorf("rank %d: got %v of %v, %v, %v", rank, got, shape, err, errShape)
			case d != rank && (err == nil || errShape == nil || !strings.Contains(err.Error(), text) || !strings.Contains(errShape.Error(), text)):
				return fmt.Errorf("rank %d: got %v and %v, %v", rank, got, err, errShape)
			}
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDisagreement opens sessions that differ, and loads programs that differ.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	if _, err := opgen.Open(catalogue.Register, opgen.Ranks(nil)); err == nil || err.Error() != "opgen: want a transport between ranks, got nil" {
		t.Errorf("got %v", err)
	}
	if _, err := opgen.Open(catalogue.Register, opgen.Ranks(ranks.Local(1)[0]), opgen.Backend(cpu.New(cpu.Config{}))); err == nil || !strings.Contains(err.Error(), "got another backend") {
		t.Errorf("got %v", err)
	}
	var done sync.WaitGroup
	for rank, transport := range ranks.Local(2) {
		done.Go(func() {
			_, err := opgen.Open(catalogue.Register, opgen.Ranks(transport), opgen.Devices(2+rank))
			if err == nil || !strings.Contains(err.Error(), "devices of all ranks together") {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	done.Wait()
	for rank, err := range onRanks(2, func(rank int, s *opgen.Session) error {
		prog, err := replicas.Chain(2+rank, 5, 2)
		if err != nil {
			return err
		}
		_, err = s.Load(context.Background(), prog)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "want the same plan on all ranks") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	for rank, err := range onRanks(3, func(int, *opgen.Session) error { return nil }, opgen.Devices(2)) {
		if err == nil || !strings.Contains(err.Error(), "want at least one device for each rank, got 2 devices for 3 ranks") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestRankCheckpoints saves the variables of three ranks, and goes on from them on one and on two: the file
// is that of one session.
func TestRankCheckpoints(t *testing.T) {
	t.Parallel()
	const devices = 3
	dir := t.TempDir()
	train := func(name string, from string, first int) func(int, *opgen.Session) error {
		return func(rank int, s *opgen.Session) error {
			step := first
			var replica []graph.Replica
			for d := range devices {
				g := graph.OnDevice(1, d)
				y := linear.Apply(g, linear.Defaults(2), g.Input("x", dtype.F32, 2, 3), graph.Named("fc"))
				loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 2, 2)))
				replica = append(replica, graph.Replica{Loss: loss, Share: graph.Share{Loss: 1. / devices, Aux: 1. / devices}})
			}
			prog, err := graph.DataParallel(replica, sgd.Optimizer(sgd.Defaults(0.1)))
			if err != nil {
				return err
			}
			p, err := s.Load(context.Background(), prog)
			if err != nil {
				return err
			}
			if from != "" {
				at, err := opgen.Checkpoints{Dir: from}.Resume(s)
				if err != nil || at.Step != step {
					return fmt.Errorf("resumed at step %d: %w", at.Step, err)
				}
			}
			for range 2 {
				if err := p.Run(context.Background(), replicas.Inputs(prog, step)...); err != nil {
					return err
				}
				step++
			}
			return opgen.Checkpoints{Dir: filepath.Join(dir, name)}.Save(s, opgen.Position{Step: step})
		}
	}
	for _, err := range onRanks(3, train("three", "", 0), opgen.Devices(devices)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	from := filepath.Join(dir, "three")
	for name, n := range map[string]int{"one": 1, "two": 2, "again": 3} {
		for _, err := range onRanks(n, train(name, from, 2), opgen.Devices(devices)) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(name string) string {
		files, err := filepath.Glob(filepath.Join(dir, name, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", name, files, err)
		}
		return string(contents(t, files[0]))
	}
	if read("one") != read("two") || read("one") != read("again") {
		t.Error("one, two and three ranks do not write the same checkpoint")
	}
}

// contents returns what is in a file.
func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
