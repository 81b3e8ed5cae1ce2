package opgen_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// TestTuned plans by a file of choices: those of this processor and of as many workers count. The results are
// the same.
func TestTuned(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 300, 1000)
	y := softmax.Apply(g, softmax.Defaults().WithDim(1), x)
	use, err := tuned.UseOf(y.Node().Op.Signature(task.KindForward), y.Node().Resolved)
	if err != nil {
		t.Fatal(err)
	}
	var table tuned.Table
	table.Set(tuned.Entry{Device: tuned.Device{Processor: tuned.Processor(), Workers: 2}, Use: use, Ranges: 3})
	table.Set(tuned.Entry{Device: tuned.Device{Processor: "another", Workers: 1}, Use: use, Ranges: 5})
	file := filepath.Join(t.TempDir(), tuned.File)
	if err := os.WriteFile(file, []byte(table.Text()), 0o666); err != nil {
		t.Fatal(err)
	}
	values := make([]float32, 300*1000)
	for i := range values {
		values[i] = float32(i % 17)
	}
	var first []float32
	for _, c := range []struct {
		opts   []opgen.Option
		ranges int
	}{{nil, 16}, {[]opgen.Option{opgen.Tuned(file), opgen.Workers(2)}, 3}, {[]opgen.Option{opgen.Tuned(file), opgen.Workers(1)}, 16}} {
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, err := s.Inference(t.Context(), g, y)
			if err != nil {
				return err
			}
			if grid := p.Plan().Tasks[0].Grid(); grid.Tiles() != c.ranges {
				t.Errorf("want %d ranges, got %v", c.ranges, &grid)
			}
			if err := p.Run(t.Context(), opgen.With(x, values)); err != nil {
				return err
			}
			got, err := opgen.Fetch[float32](p, y)
			if first == nil {
				first = got
			} else if !slices.Equal(first, got) {
				t.Error("the results depend on the choices")
			}
			return err
		}, c.opts...)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTunedErrors opens sessions with files that have mistakes, and with options that do not fit.
func TestTunedErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), tuned.File)
	if err := os.WriteFile(file, []byte("edition = 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := opgen.Open(catalogue.Register, opgen.Tuned(file))
	wantError(t, err, file+":1:11: want edition = 1")
	_, err = opgen.Open(catalogue.Register, opgen.Tuned(file+"x"))
	wantError(t, err, "no such file")
	l := ranks.Local(1)
	_, err = opgen.Open(catalogue.Register, opgen.Tuned(file), opgen.Ranks(l[0]))
	wantError(t, err, "want Tuned without Ranks")
	_, err = opgen.Open(catalogue.Register, opgen.Tuned(file), opgen.Backend(cpu.New(cpu.Config{})))
	wantError(t, err, "got another backend")
}

// counted is a backend that counts how often it was closed.
type counted struct {
	*cpu.Backend
	closed *int
}

func (c counted) Close() error {
	*c.closed++
	return c.Backend.Close()
}

// TestOpenClosesBackend opens sessions that cannot be opened. A backend belongs to its session, so Open
// closes it, once.
func TestOpenClosesBackend(t *testing.T) {
	t.Parallel()
	for want, open := range map[string]func(b opgen.Option) (*opgen.Session, error){
		"got nil": func(b opgen.Option) (*opgen.Session, error) { return opgen.Open(nil, b) },
		"want Tuned for the CPUs": func(b opgen.Option) (*opgen.Session, error) {
			return opgen.Open(catalogue.Register, b, opgen.Tuned("x"))
		},
		"want ranks that run programs on": func(b opgen.Option) (*opgen.Session, error) {
			return opgen.Open(catalogue.Register, b, opgen.Ranks(ranks.Local(1)[0]))
		},
	} {
		closed := 0
		_, err := open(opgen.Backend(counted{cpu.New(cpu.Config{}), &closed}))
		wantError(t, err, want)
		if closed != 1 {
			t.Errorf("%s: want the backend closed once, got %d times", want, closed)
		}
	}
}
