package mesh_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/catalogue"
	clip "github.com/opgen/opgen/generated/clipbynorm"
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementnary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/embedding"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	attention "github.com/opgen/opgen/generated/multiheadattentiongeneral"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/slice"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	squares "github.com/opgen/opgen/generated/sumofsquares"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/runtime/task"
)

// moves cut by slice and join by concat.
var moves = mesh.Moves{
	Cut: func(dim, from, count int) (*graph.Operator, task.Attrs) {
		return slice.Operator, slice.Defaults(from, count).WithAxis(dim)
	},
	Join: func(dim int) (*graph.Operator, task.Attrs) { return concat.Operator, concat.Defaults(dim) },
}

// The sizes of transformer.
const (
	samples, positions, width, letters = 4, 6, 8, 12
	trained                            = 4 // steps
)

// transformer is a network of one block, and its training step.
type transformer struct {
	text, next, logits, loss, norm graph.Tensor
	graph                          *graph.Graph
	training                       *graph.Program
}

// limit is the greatest norm of the gradients of all weights, which they have by far.
const limit = 0.1

// optimizer scales gradients before AdamW updates weights. With this epsilon, updates depend on the scale.
func (n *transformer) optimizer(g *graph.Graph, weights, grads []graph.Tensor) {
	var sums, scaled []graph.Tensor
	for _, t := range grads {
		sums = append(sums, squares.Apply(g, squares.Defaults(), t))
	}
	n.norm = elementunary.Sqrt(g, elementnary.Sum(g, sums))
	for _, t := range grads {
		scaled = append(scaled, clip.Apply(g, clip.Defaults(limit), clip.Input(t), clip.Norm(n.norm)))
	}
	adamw.Optimizer(adamw.Defaults().WithAlpha(0.05).WithEpsilon(0.01))(g, weights, scaled)
}

func newTransformer(t testing.TB) *transformer {
	t.Helper()
	g := graph.New(1)
	n := &transformer{graph: g, text: g.Input("text", dtype.I32, samples, positions+1), next: g.Input("next", dtype.I32, samples, positions, 1)}
	norm := func(x graph.Tensor, name string) graph.Tensor {
		return layernorm.Apply(g, layernorm.Defaults(attr.ListOf(-1)), x, graph.Named(name))
	}
	seen := slice.Apply(g, slice.Defaults(0, positions).WithAxis(1), n.text, graph.Named("seen")) // nothing follows the last letter
	x := embedding.Apply(g, embedding.Defaults(letters, width), seen, graph.Named("characters"))
	y := norm(x, "norm1")
	y = attention.Apply(g, attention.Defaults(width, 4, 2, 2, 0.7).WithCausal(true), attention.Query(y), attention.Key(y), attention.Value(y), graph.Named("attention"))
	x = elementbinary.Add(g, x, y, graph.Named("sum1"))
	y = linear.Apply(g, linear.Defaults(4*width), norm(x, "norm2"), graph.Named("wide"))
	y = linear.Apply(g, linear.Defaults(width), elementunary.Gelu(g, y, graph.Named("gelu")), graph.Named("narrow"))
	x = elementbinary.Add(g, x, y, graph.Named("sum2"))
	n.logits = linear.Apply(g, linear.Defaults(letters), norm(x, "norm3"), graph.Named("logits"))
	n.loss = scce.Apply(g, scce.Defaults().WithScaleFactor(1.0/(samples*positions)), scce.Logit(n.logits), scce.Label(n.next), graph.Named("loss"))
	p, err := graph.Training(g, n.loss, n.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	p.Fetched = append(p.Fetched, n.norm)
	n.training = p
	return n
}

// text returns the characters of a step, and those that follow them.
func text(step int) (text, next []int32) {
	for i := range samples * (positions + 1) {
		text = append(text, int32((i*7+step*5)%letters))
	}
	for i := range samples * positions {
		next = append(next, int32((i*3+step)%letters))
	}
	return text, next
}

// strategies divide the transformer. Those of the heads and of the features between two products are tensor
// parallelism; tensors that norms and sums compute are divided along positions for sequence parallelism.
var strategies = map[string]string{
	"data": "[mesh]\ndata = 4\n[divide]\ntext = { 0 = \"data\" }",
	"tensor": `[mesh]
model = 4
[divide]
"wide.weight"  = { 0 = "model" }
"attention.wq" = { 0 = "model" }`,
	"data and tensor": `[mesh]
data  = 2
model = 2
[divide]
text           = { 0 = "data" }
"wide.weight"  = { 0 = "model" }
"attention.wq" = { 0 = "model" }`,
	"letters": `[mesh]
model = 4
[divide]
"characters.weight" = { 1 = "model" }
"logits.weight"     = { 0 = "model" }
[read]
"characters.output" = { 2 = "" }
"logits.output"     = { 2 = "" }`,
	"sequence": `[mesh]
data  = 2
model = 2
[divide]
text           = { 0 = "data" }
"sum1.output"  = { 1 = "model" }
"wide.weight"  = { 0 = "model" }
"attention.wq" = { 0 = "model" }
[read]
"characters.output" = { 1 = "model" }
"norm1.output"      = { 1 = "" }
"norm2.output"      = { 1 = "" }
"norm3.output"      = { 1 = "" }
"attention.output"  = { 1 = "model" }
"narrow.output"     = { 1 = "model" }`,
	"pipeline": `[pipeline]
stages        = ["norm1", "norm2", "norm3"]
micro_batches = 4
cut           = { text = 0 }`,
	"pipeline, data and tensor": `[mesh]
data  = 2
model = 2
[divide]
text           = { 0 = "data" }
"wide.weight"  = { 0 = "model" }
"attention.wq" = { 0 = "model" }
[pipeline]
stages        = ["norm2"]
micro_batches = 2
cut           = { text = 0 }`,
}

// values are the losses and the norms of the gradients of all steps, and their bits as text.
type values struct {
	losses []float32
	norms  []float64
	text   string
}

// note notes the loss and the norm of a step.
func (v *values) note(p *opgen.Program, loss, norm graph.Tensor) error {
	l, err := opgen.Fetch[float32](p, loss)
	if err != nil {
		return err
	}
	n, err := opgen.Fetch[float64](p, norm)
	v.losses, v.norms = append(v.losses, l...), append(v.norms, n...)
	v.text += fmt.Sprintf("%x %x ", l, n)
	return err
}

// alone trains on one device. The last loss is that of the first text with the trained weights.
func alone(t *testing.T) (out values) {
	t.Helper()
	n := newTransformer(t)
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		p, err := s.Load(t.Context(), n.training)
		for step := 0; step < trained && err == nil; step++ {
			a, b := text(step)
			if err = p.Run(t.Context(), opgen.With(n.text, a), opgen.With(n.next, b)); err != nil {
				return err
			}
			err = out.note(p, n.loss, n.norm)
		}
		if err != nil {
			return err
		}
		answer, err := s.Inference(t.Context(), n.graph, n.loss)
		if err != nil {
			return err
		}
		a, b := text(0)
		if err := answer.Run(t.Context(), opgen.With(n.text, a), opgen.With(n.next, b)); err != nil {
			return err
		}
		loss, err := opgen.Fetch[float32](answer, n.loss)
		out.losses = append(out.losses, loss...)
		return err
	}, opgen.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// train trains a program that is divided. It then gathers the weights and returns the loss of the network on
// one device with them, too.
func train(t *testing.T, d *mesh.Divided, n *transformer, devices int, transport ranks.Transport) (out values, err error) {
	ctx := context.Background()
	feed := func(step int) (values []opgen.Value) {
		a, b := text(step)
		for device, part := range mesh.Cut(d, n.text, a) {
			values = append(values, opgen.With(d.Inputs(n.text)[device], part))
		}
		for device, part := range mesh.Cut(d, n.next, b) {
			values = append(values, opgen.With(d.Inputs(n.next)[device], part))
		}
		return values
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		p, err := s.Load(ctx, d.Program)
		for step := 0; step < trained && err == nil; step++ {
			if err = p.Run(ctx, feed(step)...); err != nil {
				return err
			}
			err = out.note(p, d.Parts(n.loss)[0], d.Parts(n.norm)[0])
		}
		if err != nil {
			return err
		}
		whole, err := d.Gather()
		if err != nil {
			return err
		}
		gather, err := s.Load(ctx, whole)
		if err != nil {
			return err
		}
		if err := gather.Run(ctx); err != nil {
			return err
		}
		answer, err := s.Inference(ctx, n.graph, n.loss)
		if err != nil {
			return err
		}
		a, b := text(0)
		if err := answer.Run(ctx, opgen.With(n.text, a), opgen.With(n.next, b)); err != nil {
			return err
		}
		loss, err := opgen.Fetch[float32](answer, n.loss)
		out.losses = append(out.losses, loss...)
		out.text += fmt.Sprintf("%x ", loss)
		return err
	}, opgen.Ranks(transport), opgen.Devices(devices), opgen.Workers(1))
	return out, err
}

// TestCopiesOfNorms looks at what devices and stages copy to update weights: sums of squares and their norm,
// but no gradients.
func TestCopiesOfNorms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"data and tensor", "pipeline, data and tensor"} {
		s, err := mesh.Parse("s.toml", []byte(strategies[name]))
		if err != nil {
			t.Fatal(err)
		}
		d, err := mesh.Divide(newTransformer(t).training, s, moves)
		if err != nil {
			t.Fatal(err)
		}
		scalars := 0
		for _, step := range d.Program.Steps {
			if step.Copy == nil || step.Phase != graph.Update {
				continue
			}
			if scalars++; len(step.Copy.From.Shape()) > 0 {
				t.Errorf("%s: want copies of scalars only, got one of %v", name, step.Copy.From)
			}
		}
		if scalars == 0 {
			t.Errorf("%s: want copies of sums of squares, got none", name)
		}
	}
}

// TestGather divides the batch of a chain of layers: the sums of gradients come one after the other in front
// of all updates, those of the last layer first, as they are computed.
func TestGather(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	y := g.Input("x", dtype.F32, 8, 4)
	for _, name := range []string{"one", "two", "three"} {
		y = elementunary.Relu(g, linear.Apply(g, linear.Defaults(4).WithUseBias(false), y, graph.Named(name)))
	}
	loss := meansquarederror.Apply(g, meansquarederror.Defaults().WithScaleFactor(1.0/32), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 8, 4)))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := mesh.Parse("s.toml", []byte("[mesh]\ndata = 2\n[divide]\nx = { 0 = \"data\" }\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := mesh.Divide(p, s, moves)
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	at, update := 0, -1
	for i, step := range d.Program.Steps {
		switch {
		case step.AllReduce != nil && strings.HasPrefix(step.AllReduce.Tensors[0].Name(), "grad of "):
			sums, at = append(sums, step.AllReduce.Tensors[0].Name()), i
		case step.Phase == graph.Update && step.AllReduce == nil && update < 0:
			update = i
		}
	}
	if want := []string{"grad of three.weight", "grad of two.weight", "grad of one.weight"}; !slices.Equal(sums, want) || at > update {
		t.Errorf("want sums %v before the first update, got %v, the last as step %d of which %d updates", want, sums, at, update)
	}
}

// TestDivide trains the transformer by each strategy on one to four ranks within this process: the losses and
// the norms of gradients have the same bits, and are near those of one device.
func TestDivide(t *testing.T) {
	t.Parallel()
	want := alone(t)
	for name, file := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := mesh.Parse("strategy.toml", []byte(file))
			if err != nil {
				t.Fatal(err)
			}
			bits := ""
			for _, count := range []int{1, 2, 3, 4} {
				all := make([]values, count)
				var done sync.WaitGroup
				for rank, transport := range ranks.Local(count) {
					done.Go(func() {
						n := newTransformer(t)
						d, err := mesh.Divide(n.training, s, moves)
						if err == nil {
							all[rank], err = train(t, d, n, s.Devices(), transport)
						}
						if err != nil {
							t.Errorf("rank %d of %d: %v", rank, count, err)
						}
					})
				}
				done.Wait()
				if t.Failed() {
					return
				}
				t.Logf("%d ranks: %v", count, all[0].losses)
				for rank, got := range all {
					if bits == "" {
						bits = got.text
					}
					if got.text != bits || len(strings.Fields(bits)) != 2*trained+1 {
						t.Errorf("rank %d of %d has the losses and norms %s, want %s", rank, count, got.text, bits)
					}
				}
				if len(want.losses) != trained+1 || want.losses[0]-want.losses[trained] < 0.2 {
					t.Fatalf("the network does not learn on one device: %v", want.losses)
				}
				for i, loss := range want.losses {
					if got := all[0].losses[i]; !(math.Abs(float64(got-loss)) <= 1e-5) {
						t.Errorf("step %d: the loss is %v, on one device %v", i, got, loss)
					}
				}
				for i, norm := range want.norms {
					if got := all[0].norms[i]; !(math.Abs(got-norm) <= 1e-5*norm) || norm < 2*limit {
						t.Errorf("step %d: the norm of gradients is %v, on one device %v", i, got, norm)
					}
				}
			}
		})
	}
}
