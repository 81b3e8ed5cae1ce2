package kernels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/pool2d"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestLabels feeds labels that are no classes.
func TestLabels(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.I32, dtype.I64} {
		for _, label := range []float64{-1, 3, 1 << 30} {
			g := graph.New(1)
			logits, labels := g.Input("logits", dtype.F32, 4, 3), g.Input("labels", typ, 4, 1)
			loss := scce.Apply(g, scce.Defaults(), scce.Logit(logits), scce.Label(labels))
			correct := accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(logits), accuracy.Label(labels))
			for _, x := range []graph.Tensor{loss, correct} {
				p, err := graph.Inference(g, x)
				if err != nil {
					t.Fatal(err)
				}
				_, err = run(p, values{"logits": make([]float64, 12), "labels": {0, 2, label, 1}}, execution{workers: 2})
				op := x.Node().Op.Name
				want := fmt.Sprintf("plan inference, %s: %s.forward, range [2, 3): slot label, row 2: want a class from 0 to 2, got %.0f", op, op, label)
				if err == nil || err.Error() != want {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
		}
	}
}

// TestConditions applies operators where their kernels could do nothing sensible.
func TestConditions(t *testing.T) {
	pool := func(h, w, kernel, padding int) error {
		g := graph.New(1)
		at := pool2d.Defaults()
		at.KernelH, at.KernelW, at.PaddingH, at.PaddingW = kernel, kernel, padding, padding
		pool2d.Apply(g, at, g.Input("x", dtype.F32, 1, 1, h, w))
		return g.Err()
	}
	conv := func(channels, groups int) error {
		g := graph.New(1)
		at := conv2d.Defaults()
		at.OutChannels, at.KernelH, at.KernelW, at.Groups = 4, 2, 2, groups
		conv2d.Apply(g, at, g.Input("x", dtype.F32, 1, channels, 3, 3))
		return g.Err()
	}
	tests := []struct {
		err  error
		want string // "" if there is none
	}{
		{pool(2, 2, 2, 1), ""},
		{pool(0, 2, 2, 1), "an image of 0 x 2 has nothing to pool"},
		{pool(2, 0, 2, 1), "an image of 2 x 0 has nothing to pool"},
		{pool(2, 2, 3, 0), "a window of 3 x 3 is larger than an image of 2 x 2 padded by 0 and 0"},
		{pool(2, 2, 2, 2), "a padding of 2 and 2 makes windows of 2 x 2 that hold nothing else"},
		{conv(4, 2), ""},
		{conv(3, 2), "2 groups do not divide 3 channels and 4 filters"},
		{conv(3, 3), "3 groups do not divide 3 channels and 4 filters"},
	}
	for i, tt := range tests {
		if tt.want == "" && tt.err != nil || tt.want != "" && (tt.err == nil || !strings.HasSuffix(tt.err.Error(), ": "+tt.want)) {
			t.Errorf("%d: got %v, want %q", i, tt.err, tt.want)
		}
	}
}
