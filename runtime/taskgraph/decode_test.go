package taskgraph

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/schedule"
)

// Sizes of Qwen3-8B, of up to 8 tokens at a time. MPK divides its layers into as many blocks as are here. The
// words are as many as its 600 blocks of 256 hold, of which 151,936 are used.
const (
	decoderLayers = 36
	hidden        = 4096
	heads         = 32
	groups        = 8 // heads of keys and values
	headDim       = 128
	intermediate  = 12288
	words         = 600 * 256
	tokens        = 8
	prompt        = 512 // rows of the caches that are there
	stepTasks     = 1 + decoderLayers*(8+96+8+64+8+96+48+64) + 8 + 600 + 128 + 1
	stepLayers    = 1 + 8*decoderLayers + 4
)

// decode returns the kernel graph of some steps of a decoder of the sizes of Qwen3-8B, one after the other:
// each begins with the tokens that the one before chose, and adds their keys and values to the caches. The
// columns of queries, keys and values of a group stand next to each other, as do those of gates and of what
// they multiply.
//
// Tensors between layers have memory of their own if they are apart, as those of MPK have. Otherwise they use
// memory again.
func decode(tb testing.TB, steps int, apart bool) *Graph {
	tb.Helper()
	const width = (heads + 2*groups) * headDim
	g := New("decode")
	state := func(name string, dims ...int) *DTensor { return g.NewState(name, dtype.BF16, dims...) }
	embedding, head, norm := state("embedding", words, hidden), state("head", words, hidden), state("norm", hidden)
	type decoder struct{ norm, qkv, keys, values, out, norm2, gateUp, down *DTensor }
	var layers []decoder
	for i := range decoderLayers {
		name := func(s string) string { return fmt.Sprint(s, " ", i) }
		layers = append(layers, decoder{
			state(name("norm"), hidden), state(name("qkv"), width, hidden), state(name("keys"), prompt+tokens*steps, groups*headDim), state(name("values"), prompt+tokens*steps, groups*headDim),
			state(name("out"), hidden, heads*headDim), state(name("norm2"), hidden), state(name("gateUp"), 2*intermediate, hidden), state(name("down"), hidden, intermediate),
		})
	}
	ids := g.NewInput("tokens", dtype.I32, tokens)
	for step := range steps {
		tensor := func(columns int) *DTensor {
			name := fmt.Sprint("t", len(g.tensors))
			if apart {
				return g.NewState(name, dtype.BF16, tokens, columns)
			}
			return g.NewTensor(name, dtype.BF16, tokens, columns)
		}
		rows := func(n int, x, scale *DTensor) *DTensor {
			y := tensor(n)
			layerOf(tb, g, Dim3{X: tokens}, []operand{{x, Along(0)}, {scale, None}}, []operand{{y, Along(0)}})
			return y
		}
		product := func(blocks, n int, x, weight *DTensor, residual ...*DTensor) *DTensor {
			y := tensor(n)
			in := []operand{{x, None}, {weight, Along(0)}}
			for _, r := range residual {
				in = append(in, operand{r, Along(1)})
			}
			layerOf(tb, g, Dim3{X: blocks}, in, []operand{{y, Along(1)}})
			return y
		}
		x := tensor(hidden)
		layerOf(tb, g, Dim3{}, []operand{{ids, None}, {embedding, None}}, []operand{{x, None}})
		for _, l := range layers {
			qkv := product(96, width, rows(hidden, x, l.norm), l.qkv)
			// A block per group reads the cache up to its own rows, which it appends.
			attended, at := tensor(heads*headDim), prompt+tokens*step
			b := NewBlock(Dim3{X: 1, Y: groups}, Dim3{X: 128}, 1, 0)
			columns := Map{-1, 1, -1}
			b.NewInput(qkv, columns, -1)
			for _, cache := range []*DTensor{l.keys, l.values} {
				b.NewInput(cache, columns, -1).Bound(0, X, Affine{}, Affine{0, at + tokens})
			}
			b.NewOutput(attended, columns, nil)
			for _, cache := range []*DTensor{l.keys, l.values} {
				b.NewOutput(cache, columns, nil).Bound(0, X, Affine{0, at}, Affine{0, at + tokens})
			}
			if err := g.Customized([]*DTensor{qkv, l.keys, l.values}, []*DTensor{attended, l.keys, l.values}, b); err != nil {
				tb.Fatal(err)
			}
			x = product(64, hidden, attended, l.out, x)
			gates := product(96, 2*intermediate, rows(hidden, x, l.norm2), l.gateUp)
			gated := tensor(intermediate)
			layerOf(tb, g, Dim3{X: 48}, []operand{{gates, Along(1)}}, []operand{{gated, Along(1)}})
			x = product(64, hidden, gated, l.down, x)
		}
		logits := product(600, words, rows(hidden, x, norm), head)
		best := g.NewTensor(fmt.Sprint("best ", step), dtype.F32, tokens, 128)
		layerOf(tb, g, Dim3{X: 128}, []operand{{logits, Along(1)}}, []operand{{best, Along(1)}})
		ids = g.NewOutput(fmt.Sprint("chosen ", step), dtype.I32, tokens)
		layerOf(tb, g, Dim3{}, []operand{{best, None}}, []operand{{ids, None}})
	}
	return g
}

// TestDecode makes the graph of a decoder's step. It has as many tasks as MPK makes of it, in a chain of as
// many as there are layers; the blocks of a layer depend on those whose columns they read. Package verify
// accepts the plan, and refuses it without its waits.
func TestDecode(t *testing.T) {
	t.Parallel()
	tg, err := decode(t, 1, true).Tasks(planner.Workers(128))
	if err != nil {
		t.Fatal(err)
	}
	p := tg.Plan
	if n := len(p.Tasks); n != stepTasks || len(p.Calls) != stepLayers {
		t.Errorf("%d tasks of %d layers, want %d of %d", n, len(p.Calls), stepTasks, stepLayers)
	}
	chain, longest := make([]int, len(p.Tasks)), 0
	layers := map[[2]int]int{} // predecessors of a layer's tasks in another layer
	for i := range p.Tasks {
		for _, s := range p.Deps.Preds(i) {
			chain[i] = max(chain[i], chain[s])
			layers[[2]int{p.Tasks[s].Call, p.Tasks[i].Call}]++
		}
		chain[i]++
		longest = max(longest, chain[i])
	}
	if longest != stepLayers {
		t.Errorf("the longest chain has %d tasks, want %d", longest, stepLayers)
	}
	// Products read all rows of all blocks before; others read the blocks of their columns.
	for pair, want := range map[[2]int]int{{1, 2}: 8 * 96, {2, 3}: 96, {3, 4}: 8 * 64, {6, 7}: 96, {7, 8}: 48 * 64, {stepLayers - 3, stepLayers - 2}: 600 + 128 - 8, {stepLayers - 2, stepLayers - 1}: 128} {
		if got := layers[pair]; got != want {
			t.Errorf("layers %v have %d dependencies, want %d", pair, got, want)
		}
	}
	if e := EventsOf(p); e.Pairs() != p.Deps.Edges() || e.MaxFanIn() < 128 {
		t.Errorf("%d pairs of %d dependencies, up to %d for an event", e.Pairs(), p.Deps.Edges(), e.MaxFanIn())
	}
	if err := verify.Plan(p); err != nil {
		t.Fatal(err)
	}
	bad := *p
	bad.Schedule.Queues = make([][]schedule.Op, len(p.Schedule.Queues))
	for w, q := range p.Schedule.Queues {
		bad.Schedule.Queues[w] = slices.DeleteFunc(slices.Clone(q), func(op schedule.Op) bool {
			kind, _ := op.Decode()
			return kind == schedule.WaitFor
		})
	}
	if err := verify.Plan(&bad); err == nil || !strings.Contains(err.Error(), "over before") {
		t.Errorf("without waits: %v", err)
	}
}

// decodeSteps is larger for graphs of more tasks: 68 steps have 1,009,800.
var decodeSteps = flag.Int("steps", 1, "steps of the decoder that BenchmarkDecode divides")

// BenchmarkDecode divides steps of a decoder into tasks, which are analyzed for the multiprocessors of a GPU,
// and proves the plan: once as part of it, and once alone.
func BenchmarkDecode(b *testing.B) {
	for _, x := range []struct {
		name  string
		apart bool
	}{{"apart", true}, {"reused", false}} {
		var p *plan.Plan
		b.Run(x.name+"/tasks", func(b *testing.B) {
			for b.Loop() {
				tg, err := decode(b, *decodeSteps, x.apart).Tasks(planner.Workers(128))
				if err != nil {
					b.Fatal(err)
				}
				p = tg.Plan
			}
			b.ReportMetric(float64(len(p.Tasks)), "tasks")
			b.ReportMetric(float64(len(p.Schedule.Waits)), "waits")
			b.ReportMetric(float64(p.Deps.Edges()), "dependencies")
		})
		b.Run(x.name+"/proof", func(b *testing.B) {
			for b.Loop() {
				if err := verify.Plan(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
