package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/planner"
)

// training returns a training step of two layers, and the plan that initializes it.
func training(t *testing.T) (init, step *plan.Plan) {
	t.Helper()
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 40, 3), g.Input("label", dtype.I32, 40, 1)
	at := linear.Defaults(5)
	at.Activation = activation.Relu
	h := linear.Apply(g, at, x, graph.Named(`a"b`))
	at.Activation = 0
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, at, h, graph.Named("fc"))), scce.Label(label), graph.Named("loss"))
	opt := sgd.Defaults(0.1)
	p, err := graph.Training(g, loss, sgd.Optimizer(opt))
	if err != nil {
		t.Fatal(err)
	}
	first, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	if init, err = planner.Build(first); err != nil {
		t.Fatal(err)
	}
	if step, err = planner.Build(p); err != nil {
		t.Fatal(err)
	}
	return init, step
}

func TestDOT(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	var out bytes.Buffer
	if err := draw.DOT(&out, p); err != nil {
		t.Fatal(err)
	}
	want := `digraph "training" {
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#888888"];
  edge [fontname="Helvetica", fontsize=9, color="#666666", fontcolor="#666666"];
  t0 [label="a\"b: linear.forward\nranges: 1", fillcolor="#dbe9f6"];
  t1 [label="fc: linear.forward\nranges: 1", fillcolor="#dbe9f6"];
  t0 -> t1 [label="a\"b.output f32[40, 5]"];
  t2 [label="loss: sparse_categorical_crossentropy.forward\nranges: 1", fillcolor="#dbe9f6"];
  t1 -> t2 [label="fc.output f32[40, 5]"];
  t3 [label="fill grad of loss.loss\nranges: 1", fillcolor="#eeeeee"];
  t4 [label="loss: sparse_categorical_crossentropy.backward\nranges: 1", fillcolor="#fce5cd"];
  t1 -> t4 [label="fc.output f32[40, 5]"];
  t2 -> t4 [label="loss.top f32[40]\nloss.rest f64[40]"];
  t3 -> t4 [label="grad of loss.loss f32[]"];
  t5 [label="fc: linear.backward\nranges: 1", fillcolor="#fce5cd"];
  t0 -> t5 [label="a\"b.output f32[40, 5]"];
  t4 -> t5 [label="grad of fc.output f32[40, 5]"];
  t6 [label="a\"b: linear.backward\nranges: 1", fillcolor="#fce5cd"];
  t0 -> t6 [label="a\"b.output f32[40, 5]"];
  t5 -> t6 [label="grad of a\"b.output f32[40, 5]"];
  t7 [label="a\"b.weight.sgd, 3 others: sgd.update\nranges: 1", fillcolor="#dcefdc"];
  t6 -> t7 [label="grad of a\"b.weight f32[5, 3]\ngrad of a\"b.bias f32[5]"];
  t5 -> t7 [label="grad of fc.weight f32[5, 5]\ngrad of fc.bias f32[5]"];
}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestMemoryMap checks the picture: it is XML, has a rectangle for each tensor, and no two of these overlap.
func TestMemoryMap(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	var out bytes.Buffer
	if err := draw.MemoryMap(&out, p); err != nil {
		t.Fatal(err)
	}
	type box struct {
		x, y, width, height float64
		fill, title         string
	}
	var boxes []box
	texts := ""
	d := xml.NewDecoder(&out)
	var in, title = "", false
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
			switch in {
			case "rect":
				var b box
				for _, a := range token.Attr {
					v, _ := strconv.ParseFloat(a.Value, 64)
					switch a.Name.Local {
					case "x":
						b.x = v
					case "y":
						b.y = v
					case "width":
						b.width = v
					case "height":
						b.height = v
					case "fill":
						b.fill = a.Value
					}
				}
				boxes = append(boxes, b)
			case "title":
				title = true
			}
		case xml.EndElement:
			in = ""
		case xml.CharData:
			if title {
				boxes[len(boxes)-1].title = string(token)
			}
			title = false
			if in == "text" {
				texts += string(token) + "\n"
			}
		}
	}
	boxes = slices.DeleteFunc(boxes, func(b box) bool { return b.title == "" })
	colors := map[string]string{}
	for i, b := range boxes {
		name, _, _ := strings.Cut(b.title, " f32")
		colors[name] = b.fill
		for _, c := range boxes[:i] {
			if across, up := min(b.x+b.width, c.x+c.width)-max(b.x, c.x), min(b.y+b.height, c.y+c.height)-max(b.y, c.y); across > 0.05 && up > 0.05 {
				t.Errorf("%s and %s overlap", b.title, c.title)
			}
		}
	}
	roots := 0
	for _, r := range p.Roots {
		if r.Use != plan.Variable && r.First <= r.Last {
			roots++
		}
	}
	if len(boxes) != roots || roots < 12 {
		t.Errorf("%d rectangles for %d tensors", len(boxes), roots)
	}
	for name, want := range map[string]string{"x": "#59a14f", "loss.loss": "#b07aa1", "fc.output": "#4e79a7", "grad of fc.weight": "#f28e2b", `a"b.backward.grad_pre`: "#b3b0ab"} {
		if colors[name] != want {
			t.Errorf("%s is painted %s, want %s", name, colors[name], want)
		}
	}
	for _, want := range []string{"Memory of plan training", "forward", "backward", "update", `a"b.output`, "bytes needed at each task"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the picture does not say %q, but\n%s", want, texts)
		}
	}
}

// full fails after some bytes, as a full disk does.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	for name, write := range map[string]func(io.Writer, *plan.Plan) error{"dot": draw.DOT, "memory": draw.MemoryMap} {
		f := full(100)
		if err := write(&f, p); err == nil || err.Error() != "disk full" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestMemoryMapOfAnyName draws names that XML cannot hold as they are.
func TestMemoryMapOfAnyName(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	for i := range p.Roots {
		p.Roots[i].Name = fmt.Sprintf("%d \x00 \x1b \ufffe <script> & \" ' \n \xff", i)
	}
	p.Name = p.Roots[0].Name
	var out bytes.Buffer
	if err := draw.MemoryMap(&out, p); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&out); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
