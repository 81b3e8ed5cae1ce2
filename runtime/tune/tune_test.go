package tune

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

func registry(t *testing.T) *task.Registry {
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// TestBits runs the tasks of the catalogue at their examples, as they are and larger, with numbers of ranges
// that are drawn by chance, with one worker and with several. The bits are those without a choice. With
// -short, these are the tasks of every fourth operator.
func TestBits(t *testing.T) {
	t.Parallel()
	r := registry(t)
	rng := rand.New(rand.NewPCG(1, 2))
	compared, plans, without := 0, 0, map[string]bool{}
	for number, o := range catalogue.Operators() {
		if testing.Short() && number%4 != 0 {
			continue
		}
		var all []*use
		for i, u := range sized(o) {
			if u.elements() <= 1<<15 && i < 6 {
				all = append(all, u)
			}
		}
		for i := range o.Examples {
			x := &o.Examples[i]
			attrs, err := o.DecodeAttrs([]byte(x.Attrs))
			if err != nil {
				t.Errorf("%s: %v", o.Name, err)
			} else if len(x.Dims) == 0 {
				all = append(all, &use{o, attrs, x.Shapes, x.Counts, x.Args})
			}
		}
		for _, u := range all {
			n, err := u.node()
			if err != nil {
				t.Errorf("%s of %v: %v", o.Name, u.shapes, err)
				continue
			}
			for _, s := range o.Signatures {
				if s.Kind != task.KindForward && s.Kind != task.KindBackward && s.Kind != task.KindUpdate {
					continue
				}
				title, err := u.title(s, n)
				if err != nil {
					t.Fatal(err)
				}
				key, err := tuned.UseOf(s, n.Resolved)
				if err != nil {
					t.Fatal(err)
				}
				x := &tuner{config: config{Workers: 1 + 2*rng.IntN(2)}, registry: r, on: tuned.Device{Processor: "p"}}
				m, err := x.load(n, s, key, []int{1, 2 + rng.IntN(6), 8 + rng.IntN(100)})
				if errors.Is(err, errNoTask) {
					without[title] = true
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", title, err)
					continue
				}
				for i := range m.plans {
					if err := m.warm(t.Context(), i); err != nil {
						t.Errorf("%s: %v", title, err)
						break
					}
				}
				compared, plans = compared+len(m.want), plans+len(m.plans)-1
				m.close()
			}
		}
	}
	t.Logf("%d plans with choices, of programs with %d tensors", plans, compared)
	if testing.Short() {
		return
	}
	if plans < 2500 || compared < 2500 {
		t.Errorf("want 2500 plans and 2500 tensors or more, got %d and %d", plans, compared)
	}
	if got := slices.Sorted(maps.Keys(without)); !slices.Equal(got, notInPrograms) {
		t.Errorf("want no tasks in the programs of\n%s\ngot none in those of\n%s", strings.Join(notInPrograms, "\n"), strings.Join(got, "\n"))
	}
}

// notInPrograms are the examples whose programs do without the task: integers have no gradient, and an output
// without elements, or none, needs no task.
var notInPrograms = []string{
	`cast{"dtype":"bool","input_dtype":null} input=2x2: backward`,
	`cast{"dtype":"i16","input_dtype":null} input=3: backward`,
	`cast{"dtype":"i32","input_dtype":null} input=4: backward`,
	`cast{"dtype":"i64","input_dtype":null} input=: backward`,
	`cast{"dtype":"i8","input_dtype":null} input=3: backward`,
	`cast{"dtype":"u16","input_dtype":null} input=3: backward`,
	`cast{"dtype":"u32","input_dtype":null} input=3: backward`,
	`cast{"dtype":"u64","input_dtype":null} input=3: backward`,
	`cast{"dtype":"u8","input_dtype":null} input=3: backward`,
	`slice{"axis":-1,"start":0,"step":3,"count":0} input=7: forward`,
	`trim_sequence input.0=3x2 input.1=0x2: forward`,
}

// TestRun measures the choice of a row, which takes many times as long in the usual ranges: their number
// follows from the size of the tensor, most of which is not read. An entry says so. An entry of another
// device stays, and one of this use that is not better goes.
func TestRun(t *testing.T) {
	r := registry(t)
	var table tuned.Table
	other := tuned.Entry{Device: tuned.Device{Processor: "another", Workers: 1}, Use: tuned.Use{Operator: "take"}, Ranges: 5}
	table.Set(other)
	all, err := uses(catalogue.Operators(), []string{`take{"axis": 0} input=2048x128 index=`})
	if err != nil {
		t.Fatal(err)
	}
	n, err := all[0].node()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := tuned.UseOf(n.Op.Signature(task.KindBackward), n.Resolved)
	if err != nil {
		t.Fatal(err)
	}
	table.Set(tuned.Entry{Device: tuned.Device{Processor: tuned.Processor(), Workers: 1}, Use: stale, Ranges: 7}) // which is no candidate
	var out bytes.Buffer
	c := config{Operators: catalogue.Operators(), Uses: []string{`take{"axis": 0} input=2048x128 index=`}, Workers: 1, Out: &out}
	measured, chosen, err := run(t.Context(), r, &table, c)
	if err != nil || measured != 2 || chosen < 1 || !strings.Contains(out.String(), `index=: forward: `) {
		t.Fatalf("%v: %d measured, %d chosen\n%s", err, measured, chosen, &out)
	}
	found := false
	for _, e := range table.Entries {
		if e.Ranges == 7 {
			t.Errorf("the entry %+v stays, though it is not faster", e)
		}
		if e.Processor == tuned.Processor() && e.Task == "forward" {
			found = true
			if e.Ranges > 8 || e.Shapes != "input=2048x128 index=" || !strings.Contains(e.Attrs, "axis") {
				t.Errorf("got the entry %+v", e)
			}
		}
	}
	if !found || table.Entries[0] != other {
		t.Errorf("got the table\n%s", table.Text())
	}
	c.Machine = cost.Machine{F32: 1, F64: 1, Bandwidth: 1} // so slow that nothing takes as long
	if measured, chosen, err := run(t.Context(), r, &table, c); err != nil || measured != 2 || chosen < 1 {
		t.Errorf("with the machine %+v: %v: %d measured, %d chosen\n%s", c.Machine, err, measured, chosen, &out)
	}
}

// TestInterrupt ends the context between two tasks: the entry of the second one stays.
func TestInterrupt(t *testing.T) {
	const text = `softmax{"dim": 1} input=4x8`
	all, err := uses(catalogue.Operators(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	n, err := all[0].node()
	if err != nil {
		t.Fatal(err)
	}
	second, err := tuned.UseOf(n.Op.Signature(task.KindBackward), n.Resolved)
	if err != nil {
		t.Fatal(err)
	}
	var table tuned.Table
	table.Set(tuned.Entry{Device: tuned.Device{Processor: tuned.Processor(), Workers: 1}, Use: second, Ranges: 7})
	ctx, cancel := context.WithCancel(t.Context())
	c := config{Operators: catalogue.Operators(), Uses: []string{text}, Workers: 1, Out: writer(func([]byte) { cancel() })}
	measured, _, err := run(ctx, registry(t), &table, c)
	kept := slices.ContainsFunc(table.Entries, func(e tuned.Entry) bool { return e.Use == second && e.Ranges == 7 })
	if measured != 1 || !errors.Is(err, context.Canceled) || !kept {
		t.Errorf("%v: %d measured, and the table is\n%s", err, measured, table.Text())
	}
}

// writer is called with what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// TestSure needs a gain in the median and in each round, and no loss at other sizes.
func TestSure(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		ratios []float64
		want   bool
	}{{[]float64{0.5, 0.94, 0.97}, true}, {[]float64{0.5, 0.94, 0.99}, false}, {[]float64{0.5, 0.96, 0.97}, false}} {
		if sure(x.ratios) != x.want {
			t.Errorf("%v: want %v", x.ratios, x.want)
		}
	}
	if slower(1.02) || !slower(1.021) {
		t.Error("want a loss of 2 % at most at other sizes")
	}
}

// TestRoofline bounds a task by its operations, and by memory if its tensors are in no cache.
func TestRoofline(t *testing.T) {
	t.Parallel()
	const flops = 2 * 512 * 512 * 512
	for _, x := range []struct {
		use     string
		machine cost.Machine
		want    time.Duration
	}{
		{`linear{"out_channels": 512} input=512x512`, cost.Machine{}, 0},
		{`linear{"out_channels": 512} input=512x512`, cost.Machine{F32: flops, Bandwidth: 1}, time.Second},
		{`linear{"out_channels": 512} input=262144x512`, cost.Machine{F32: 512 * flops, Bandwidth: 1 << 28}, 4 * time.Second}, // of 512 MiB each
		{`linear{"out_channels": 512} input=262144x512`, cost.Machine{F32: 64 * flops, Bandwidth: 1 << 28}, 8 * time.Second},
	} {
		all, err := uses(catalogue.Operators(), []string{x.use})
		if err != nil {
			t.Fatal(err)
		}
		n, err := all[0].node()
		if err != nil {
			t.Fatal(err)
		}
		got := (&tuner{config: config{Machine: x.machine}}).bound(n, n.Op.Signature(task.KindForward))
		if got < x.want || got > x.want*11/10 {
			t.Errorf("%s with the machine %+v: want about %v, got %v", x.use, x.machine, x.want, got)
		}
	}
}

// TestBudget begins no task after the time is over, and ends with the context.
func TestBudget(t *testing.T) {
	var table tuned.Table
	var out bytes.Buffer
	c := config{Operators: catalogue.Operators(), Workers: 1, Budget: 1, Out: &out}
	measured, chosen, err := run(t.Context(), registry(t), &table, c)
	if err != nil || measured != 0 || chosen != 0 || out.String() != "the time is over\n" {
		t.Errorf("%v: %d measured, %d chosen\n%s", err, measured, chosen, &out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Budget = 0
	if _, _, err := run(ctx, registry(t), &table, c); !errors.Is(err, context.Canceled) {
		t.Errorf("want the end of the context, got %v", err)
	}
}

// TestUses reads uses, and reports what is none.
func TestUses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`softmax{"dim": 1} input=4x5`: "",
		`softmax input=4x5`:           "",
		`softmax`:                     "",
		`softmx`:                      "there is no operator softmx",
		`softmax{"dim": 1`:            "want attributes as JSON",
		`softmax{"dim": 1}`:           "want shapes of inputs behind attributes",
		`softmax{"dims": 1} input=4`:  "dims",
		`softmax input=4xy`:           `got "input=4xy"`,
		`softmax inputs=4x5`:          `got "inputs=4x5"`,
		`softmax{"dim": 7} input=4x5`: "dim",
	} {
		got, err := uses(catalogue.Operators(), []string{text})
		if want == "" && (err != nil || len(got) == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
	if _, _, err := run(t.Context(), registry(t), &tuned.Table{}, config{Workers: 0}); err == nil {
		t.Error("want an error for no workers, got none")
	}
}

// TestOthers finds other sizes of the bucket, also where extents belong together.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`softmax input=64x1000`, `mean_squared_error logit=40x100 label=40x100`, `reverse{"axis": 0} input=3`, `softmax input=2x1000`} {
		all, err := uses(catalogue.Operators(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		u := all[0]
		others := u.others()
		if len(others) == 0 {
			t.Errorf("%s: want other sizes, got none", text)
		}
		for _, o := range others {
			for slot, dims := range o.shapes {
				for d, n := range dims {
					if tuned.Rounded(n) != tuned.Rounded(u.shapes[slot][d]) {
						t.Errorf("%s: %v is in another bucket", text, o.shapes)
					}
				}
			}
		}
	}
}
