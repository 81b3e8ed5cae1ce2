package graph_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/lookup"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/generated/sparsematvec"
	"github.com/opgen/opgen/generated/stencil"
	"github.com/opgen/opgen/generated/upsample"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// launched is a solved launch of the first task of a node.
type launched struct {
	t *testing.T
	*partition.Strategy
	slots []string // of its arguments
}

// launch divides the first task of a node among four processors. values holds the elements of integer
// tensors, by slot.
func launch(t *testing.T, n *graph.Node, values map[string][]int) launched {
	t.Helper()
	inv, err := n.Invoke()
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	out := launched{t: t}
	for _, s := range inv.Signature.Declaration().Slots() {
		out.slots = append(out.slots, s.Name)
	}
	for range 2 { // the first strategy shows the stores, which then get their values
		if out.Strategy, err = l.Solve(machine); err != nil {
			t.Fatal(err)
		}
		for slot, v := range values {
			s := out.of(slot).Store
			s.Values = nil
			for _, at := range v {
				s.Values = append(s.Values, partition.Box{Lo: []int{at}, Hi: []int{at + 1}})
			}
		}
	}
	if out.Leaves() < 2 {
		t.Fatalf("the launch is not divided: %v", out.Stores)
	}
	return out
}

func (l launched) of(slot string) *partition.StorePartition {
	return l.Argument(slices.Index(l.slots, slot))
}

// box returns what a leaf gets of a tensor.
func (l launched) box(slot string, leaf int) partition.Box {
	l.t.Helper()
	p := l.of(slot)
	if p.PartOf != nil {
		leaf = p.PartOf[leaf]
	}
	b := p.Part(0, leaf).Box
	if p.Whole() {
		b = p.Part(0, 0).Box
	}
	return b
}

// contains reports whether a box holds an index.
func contains(b partition.Box, at ...int) bool {
	for d, i := range at {
		if i < b.Lo[d] || i >= b.Hi[d] {
			return false
		}
	}
	return true
}

// TestScaledTiles divides images and what is upsampled from them: the tiles of the output are those of the
// input, times the factor that an attribute gives.
func TestScaledTiles(t *testing.T) {
	g := graph.New(1)
	l := launch(t, upsample.Apply(g, upsample.Defaults(3), g.Input("x", dtype.F32, 2, 2, 8, 8)).Node(), nil)
	for leaf := range l.Leaves() {
		in, out := l.box("input", leaf), l.box("output", leaf)
		for d, f := range []int{1, 1, 3, 3} {
			if out.Lo[d] != f*in.Lo[d] || out.Hi[d] != f*in.Hi[d] {
				t.Errorf("leaf %d: output %v of input %v", leaf, out, in)
			}
		}
	}
}

// TestGrownTiles divides fields: each leaf gets the neighbors of its elements, as far as the attribute
// reaches, and no tile is smaller than that.
func TestGrownTiles(t *testing.T) {
	for _, reach := range []int{1, 3} {
		g := graph.New(1)
		n := stencil.Apply(g, stencil.Defaults(reach), stencil.Input(g.Input("x", dtype.F32, 1, 12, 5)),
			stencil.Weight(g.Input("w", dtype.F32, 2*reach+1, 2*reach+1))).Node()
		l := launch(t, n, nil)
		if p := l.of("weight"); !p.Whole() {
			t.Errorf("reach %d: the weight is divided: %v", reach, p.Partition)
		}
		for leaf := range l.Leaves() {
			in, out := l.box("input", leaf), l.box("output", leaf)
			for d, extent := range []int{1, 12, 5} {
				grow := reach
				if d == 0 {
					grow = 0
				}
				if in.Lo[d] != max(out.Lo[d]-grow, 0) || in.Hi[d] != min(out.Hi[d]+grow, extent) || out.Hi[d]-out.Lo[d] < grow {
					t.Errorf("reach %d, leaf %d: input %v of output %v", reach, leaf, in, out)
				}
			}
		}
	}
	// Tiles of half the rows are too small.
	g := graph.New(1)
	n := stencil.Apply(g, stencil.Defaults(7), stencil.Input(g.Input("x", dtype.F32, 1, 12, 5)), stencil.Weight(g.Input("w", dtype.F32, 15, 15))).Node()
	inv, err := n.Invoke()
	if err != nil {
		t.Fatal(err)
	}
	l, err := inv.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := l.Solve(machine); err != nil || s.Leaves() != 1 {
		t.Errorf("got %v, %v, want one leaf", s.Domain, err)
	}
}

// TestImagesOfRows divides the rows of a sparse matrix: each leaf gets the elements of its rows, and the
// elements of the vector to which their columns point.
func TestImagesOfRows(t *testing.T) {
	offsets, columns := []int{0, 2, 2, 5, 6}, []int{1, 3, 2, 0, 3, 5}
	g := graph.New(1)
	n := sparsematvec.Apply(g, sparsematvec.Defaults(), sparsematvec.Offsets(g.Input("offsets", dtype.I64, 5)),
		sparsematvec.Columns(g.Input("columns", dtype.I64, 6)), sparsematvec.Values(g.Input("values", dtype.F32, 6)),
		sparsematvec.Input(g.Input("x", dtype.F32, 7))).Node()
	l := launch(t, n, map[string][]int{"offsets": offsets, "columns": columns})
	narrow := false
	for leaf := range l.Leaves() {
		rows := l.box("output", leaf)
		narrow = narrow || !l.of("columns").Whole() && l.box("columns", leaf).Hi[0]-l.box("columns", leaf).Lo[0] < 6
		for r := rows.Lo[0]; r < rows.Hi[0]; r++ {
			if b := l.box("offsets", leaf); !contains(b, r) || !contains(b, r+1) {
				t.Errorf("leaf %d: row %d begins and ends outside of %v", leaf, r, b)
			}
			for e := offsets[r]; e < offsets[r+1]; e++ {
				if !contains(l.box("columns", leaf), e) || !contains(l.box("values", leaf), e) || !contains(l.box("input", leaf), columns[e]) {
					t.Errorf("leaf %d: element %d of row %d lies outside", leaf, e, r)
				}
			}
		}
	}
	if !narrow {
		t.Error("every leaf has all columns")
	}
}

// TestImageOfPoints divides indices: each leaf gets the elements of the table to which its indices point, and
// no others.
func TestImageOfPoints(t *testing.T) {
	index := []int{8, 0, 3, 3, 9, 1, 1, 8}
	g := graph.New(1)
	n := lookup.Apply(g, lookup.Defaults(), lookup.Table(g.Input("table", dtype.F32, 10)), lookup.Index(g.Input("index", dtype.I64, 8))).Node()
	l := launch(t, n, map[string][]int{"index": index})
	for leaf := range l.Leaves() {
		at, out := l.box("index", leaf), l.box("output", leaf)
		if at.String() != out.String() {
			t.Errorf("leaf %d: indices %v for output %v", leaf, at, out)
		}
		want := map[int]bool{}
		for i := at.Lo[0]; i < at.Hi[0]; i++ {
			want[index[i]] = true
		}
		var got []int
		for _, p := range l.of("table").Points[leaf] {
			got = append(got, p[0])
		}
		if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(got, sorted) {
			t.Errorf("leaf %d: got the points %v, want %v", leaf, got, sorted)
		}
	}
}

// TestDeclaredConstraintsHold refuses launches of the operators above that do not keep to their constraints.
func TestDeclaredConstraintsHold(t *testing.T) {
	store := func(name string, typ dtype.Type, extents ...int) *partition.Store {
		return task.Store(name, task.Operand{Type: typ, Shape: extents})
	}
	var f32, i64 = dtype.F32, dtype.I64
	g := graph.New(1)
	up := upsample.Apply(g, upsample.Defaults(2), g.Input("x", f32, 1, 1, 2, 2)).Node()
	near := stencil.Apply(g, stencil.Defaults(1), stencil.Input(g.Input("f", f32, 1, 4, 4)), stencil.Weight(g.Input("w", f32, 3, 3))).Node()
	sparse := sparsematvec.Apply(g, sparsematvec.Defaults(), sparsematvec.Offsets(g.Input("o", i64, 3)), sparsematvec.Columns(g.Input("c", i64, 2)),
		sparsematvec.Values(g.Input("v", f32, 2)), sparsematvec.Input(g.Input("u", f32, 2))).Node()
	look := lookup.Apply(g, lookup.Defaults(), lookup.Table(g.Input("t", f32, 3)), lookup.Index(g.Input("i", i64, 4))).Node()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		node   *graph.Node
		stores []*partition.Store
		code   op.Code
	}{
		{up, []*partition.Store{store("x", f32, 1, 1, 2, 2), store("y", f32, 1, 4, 4)}, partition.RankMismatch},
		{near, []*partition.Store{store("x", f32, 1, 4, 4), store("w", f32, 3, 3), store("y", f32, 4, 4)}, partition.AxisOutOfRange},
		{sparse, []*partition.Store{store("o", i64, 3), store("c", i64, 2), store("v", f32, 2), store("x", f32, 2, 2), store("y", f32, 2)}, partition.ImageType},
		{look, []*partition.Store{store("t", f32, 3), store("i", f32, 4), store("y", f32, 4)}, partition.ImageType},
		{look, []*partition.Store{store("t", f32, 3), store("i", i64, 4), store("y", f32, 3)}, partition.AlignShape},
	} {
		sig := tt.node.Op.Main()
		var stores [][]*partition.Store
		for _, s := range tt.stores {
			stores = append(stores, []*partition.Store{s})
		}
		_, err := new(task.Limiter).Limits(sig, tt.node.Resolved, stores, nil, nil)
		var e *op.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Operator != tt.node.Op.Name {
			t.Errorf("%s: got %v, want an error of the code %s", tt.node.Op.Name, err, tt.code)
		}
		stores[0] = nil
		if _, err := new(task.Limiter).Limits(sig, tt.node.Resolved, stores, nil, nil); err == nil {
			t.Errorf("%s: a launch without its first tensor is accepted", tt.node.Op.Name)
		}
	}
	upsample.Apply(g, upsample.Defaults(2), g.Input("z", f32, 1, 1, 2, 2),
		graph.Constrain(task.KindForward, partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.Whole("output")}}))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "only the constraints that the task declares") {
		t.Errorf("a constraint besides those that are declared: got %v", err)
	}
}

// TestNumbersOfConstraints refuses numbers that expressions give where a constraint cannot have them, and
// expressions in constraints that no operator declares.
func TestNumbersOfConstraints(t *testing.T) {
	g := graph.New(1)
	n := stencil.Apply(g, stencil.Defaults(1), stencil.Input(g.Input("x", dtype.F32, 1, 4, 4)), stencil.Weight(g.Input("w", dtype.F32, 3, 3))).Node()
	res := *n.Resolved
	res.Numbers = maps.Clone(res.Numbers)
	res.Numbers[[2]int{0, 0}] = map[string][]int{"low": {-1, 0}, "high": {0, 0}}
	stores := make([][]*partition.Store, 3)
	for i, slot := range []int{int(stencil.SlotInput), int(stencil.SlotWeight), int(stencil.SlotOutput)} {
		stores[i] = []*partition.Store{task.Store("x", n.Resolved.Operands(slot)[0])}
	}
	var e *op.Error
	if _, err := new(task.Limiter).Limits(n.Op.Main(), &res, stores, nil, nil); !errors.As(err, &e) || e.Code != partition.BadValue || e.Operator != "stencil" {
		t.Errorf("a negative number: got %v", err)
	}
	y := softmaxWith(g, partition.Constraint{Kind: partition.MinExtents, Terms: []partition.Term{partition.Whole("input")}, Exprs: map[string][]string{"extents": {"K"}}})
	_, err := graph.Inference(g, y)
	if !errors.As(err, &e) || e.Code != partition.BadOperand {
		t.Errorf("an expression in an added constraint: got %v", err)
	}
}

func softmaxWith(g *graph.Graph, c partition.Constraint) graph.Tensor {
	return softmax.Apply(g, along(0), g.Input("row", dtype.F32, 4), graph.Constrain(task.KindForward, c))
}
