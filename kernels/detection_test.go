package kernels_test

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/elementbits"
	"github.com/opgen/opgen/generated/gridsample"
	"github.com/opgen/opgen/generated/gridsample3d"
	"github.com/opgen/opgen/generated/nonmaxsuppression"
	"github.com/opgen/opgen/generated/paddingmode"
	"github.com/opgen/opgen/generated/roialign"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestElementBits combines the bits of integers with and without sign, of which extents are repeated.
func TestElementBits(t *testing.T) {
	for of, apply := range map[elementbits.Type]func(*graph.Graph, graph.Tensor, graph.Tensor, ...graph.Option) graph.Tensor{
		elementbits.TypeAnd: elementbits.And, elementbits.TypeOr: elementbits.Or, elementbits.TypeXor: elementbits.Xor,
		elementbits.TypeLeft: elementbits.Left, elementbits.TypeRight: elementbits.Right,
	} {
		want := bitsByHand(of, []int8{6, 3, -2, 7}, []int8{-4, 2, 6, 2})
		g := graph.New(1)
		x, y := g.Input("x", dtype.I8, 4), g.Input("y", dtype.I8, 4)
		z := apply(g, x, y)
		p := infer(t, g, []graph.Tensor{z}, opgen.With(x, []int8{6, 3, -2, 7}), opgen.With(y, []int8{-4, 2, 6, 2}))
		if got, _ := fetched[int8](t, p, z); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", of, got, want)
		}
	}
	g := graph.New(1)
	x, y := g.Input("x", dtype.U16, 2, 1), g.Input("y", dtype.U16, 3)
	z := elementbits.Right(g, x, y)
	p := infer(t, g, []graph.Tensor{z}, opgen.With(x, []uint16{65535, 256}), opgen.With(y, []uint16{1, 8, 16}))
	if got, s := fetched[uint16](t, p, z); !slices.Equal(got, []uint16{32767, 255, 0, 128, 1, 0}) || !slices.Equal(s, d(2, 3)) {
		t.Errorf("got %v of shape %v", got, s)
	}
}

// bitsByHand combines integers bit by bit.
func bitsByHand(of elementbits.Type, x, y []int8) []int8 {
	out := make([]int8, len(x))
	for i := range x {
		for k := range 8 {
			bit := func(v int8, k int) int { return int(v>>min(k, 7)) & 1 }
			var b int
			switch of {
			case elementbits.TypeAnd:
				b = bit(x[i], k) * bit(y[i], k)
			case elementbits.TypeOr:
				b = max(bit(x[i], k), bit(y[i], k))
			case elementbits.TypeXor:
				b = (bit(x[i], k) + bit(y[i], k)) % 2
			case elementbits.TypeLeft:
				if n := int(y[i]); n >= 0 && k >= n {
					b = bit(x[i], k-n)
				}
			case elementbits.TypeRight:
				b = bit(x[i], 7)
				if n := int(y[i]); n >= 0 && k+n < 7 {
					b = bit(x[i], k+n)
				}
			}
			out[i] |= int8(b << k)
		}
	}
	return out
}

// TestNonMaxSuppression selects boxes of which some overlap others, have no area, or are corners the other
// way around.
func TestNonMaxSuppression(t *testing.T) {
	boxes := []float32{0, 0, 2, 2, 2, 2, 0, 1, 0, 0, 2, 2, 5, 5, 6, 6, 3, 3, 3, 3}
	scores := []float32{0.5, 0.7, 0.5, 0.1, 0.9, 0, 0.2, 0.3, 0.4, 0.4}
	for _, c := range []struct {
		attrs nonmaxsuppression.Attrs
		want  []int64
	}{
		{nonmaxsuppression.Defaults(9), []int64{0, 0, 4, 0, 0, 1, 0, 0, 3, 0, 1, 3, 0, 1, 4, 0, 1, 2}},
		{nonmaxsuppression.Defaults(9).WithIou(0.5), []int64{0, 0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 1, 3, 0, 1, 4, 0, 1, 2, 0, 1, 1}},
		{nonmaxsuppression.Defaults(1).WithLeast(0.4), []int64{0, 0, 4}},
		{nonmaxsuppression.Defaults(0), nil},
	} {
		g := graph.New(1)
		b, s := g.Input("b", dtype.F32, 1, 5, 4), g.Input("s", dtype.F32, 1, 2, 5)
		y := nonmaxsuppression.Apply(g, c.attrs, nonmaxsuppression.Boxes(b), nonmaxsuppression.Scores(s))
		p := infer(t, g, []graph.Tensor{y.Output}, opgen.With(b, boxes), opgen.With(s, scores))
		if got, shape := fetched[int64](t, p, y.Output); !slices.Equal(got, c.want) || !slices.Equal(shape, d(len(c.want)/3, 3)) {
			t.Errorf("%+v: got %v of shape %v, want %v", c.attrs, got, shape, c.want)
		}
	}
}

// TestRoiAlign samples an image whose elements are a plane, of which a bilinear sample is the value at its
// place.
func TestRoiAlign(t *testing.T) {
	image := make([]float64, 6*8)
	for i := range image {
		image[i] = 10*float64(i/8) + float64(i%8)
	}
	image[5*8] = math.Inf(1) // which no sample has a share of
	at := func(y, x float64) float64 { return 10*y + x }
	for _, c := range []struct {
		attrs roialign.Attrs
		boxes []float64
		want  []float64
	}{
		// Samples of a part lie around its center.
		{roialign.Defaults(1, 2).WithSamples(2), []float64{1, 1, 5, 3}, []float64{at(2, 2), at(2, 4)}},
		{roialign.Defaults(1, 2), []float64{1, 1, 5, 3}, []float64{at(2, 2), at(2, 4)}},
		{roialign.Defaults(1, 2).WithScale(0.5).WithCenters(true), []float64{2, 2, 10, 6}, []float64{at(1.5, 1.5), at(1.5, 3.5)}},
		{roialign.Defaults(1, 1).WithSamples(1), []float64{2, 2, 2, 2}, []float64{at(2.5, 2.5)}}, // at least 1 long
		{roialign.Defaults(1, 1).WithSamples(1), []float64{20, 4, 22, 6}, []float64{0}},
		{roialign.Defaults(1, 1).WithSamples(1), []float64{-2, 2, 1, 4}, []float64{at(3, 0)}},
		// Samples outside count as 0 also where the image holds infinities, and among those inside.
		{roialign.Defaults(1, 1).WithSamples(2), []float64{5, 2, 13, 2}, []float64{at(2.5, 7) / 2}},
		{roialign.Defaults(1, 1), []float64{math.NaN(), 2, 5, 4}, []float64{0}},
		{roialign.Defaults(1, 1), []float64{math.Inf(-1), 2, math.Inf(1), 4}, []float64{0}},
		{roialign.Defaults(1, 1).WithCenters(true), []float64{5, 4, 2, 3}, []float64{0}}, // no samples
		{roialign.Defaults(1, 1).WithSamples(1).WithMode(roialign.ModeMax), []float64{20, 4, 22, 6}, []float64{0}},
		// The greatest share of an element: a quarter of the last one.
		{roialign.Defaults(1, 1).WithSamples(1).WithMode(roialign.ModeMax), []float64{2, 2, 3, 3}, []float64{at(3, 3) / 4}},
	} {
		g := graph.New(1)
		x, b, n := g.Input("x", dtype.F64, 1, 1, 6, 8), g.Input("b", dtype.F64, 1, 4), g.Input("n", dtype.I64, 1)
		y := roialign.Apply(g, c.attrs, roialign.Input(x), roialign.Boxes(b), roialign.Image(n))
		p := infer(t, g, []graph.Tensor{y}, opgen.With(x, image), opgen.With(b, c.boxes), opgen.With(n, []int64{0}))
		got, _ := fetched[float64](t, p, y)
		for i := range c.want {
			if !(math.Abs(got[i]-c.want[i]) <= 1e-12) { // NaN is wrong, too
				t.Errorf("%+v: got %v, want %v", c.attrs, got, c.want)
				break
			}
		}
	}
}

// TestGridSampleAtElements samples at the places of elements, as a grid does that moves nothing. A mean of
// neighbors has a kink there: the slope is that behind the place, the difference between the element and the
// next one, as PyTorch has it, and not that of an absolute value at 0.
func TestGridSampleAtElements(t *testing.T) {
	image := []float64{1, 4, 9, 16, 25, 37}
	g := graph.New(1)
	x, grid := g.Input("x", dtype.F64, 1, 1, 2, 3), g.Input("grid", dtype.F64, 1, 2, 3, 2)
	y := gridsample.Apply(g, gridsample.Defaults().WithCorners(true).WithPadding(paddingmode.Border), gridsample.Input(x), gridsample.Grid(grid))
	volume, places := g.Input("volume", dtype.F64, 1, 1, 1, 2, 3), g.Input("places", dtype.F64, 1, 1, 2, 3, 3)
	z := gridsample3d.Apply(g, gridsample3d.Defaults().WithCorners(true).WithPadding(paddingmode.Border), gridsample3d.Input(volume), gridsample3d.Grid(places))
	ones, others := g.Input("ones", dtype.F64, y.Shape()...), g.Input("others", dtype.F64, z.Shape()...)
	program, slopes, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: ones, z: others}, []graph.Tensor{grid, places}, y, z)
	if err != nil {
		t.Fatal(err)
	}
	var flat, deep []float64
	for row := range 2 {
		for column := range 3 {
			flat = append(flat, float64(column)-1, float64(2*row)-1)
			deep = append(deep, float64(column)-1, float64(2*row)-1, 0)
		}
	}
	one := slices.Repeat([]float64{1}, 6)
	v := mustRun(t, program, values{"x": image, "grid": flat, "volume": image, "places": deep, "ones": one, "others": one}, optest.Execution{})
	for _, got := range []graph.Tensor{y, z} {
		if !slices.Equal(v[got.Name()], image) {
			t.Errorf("want the image %v, got %v", image, v[got.Name()])
		}
	}
	at := func(row, column int) float64 { return image[min(row, 1)*3+min(column, 2)] }
	for k, of := range []graph.Tensor{grid, places} {
		got := v[slopes[of].Name()]
		for i := range 6 {
			row, column := i/3, i%3
			want := []float64{at(row, column+1) - at(row, column), (at(row+1, column) - at(row, column)) / 2}
			if s := got[i*(2+k):][:2]; !slices.Equal(s, want) {
				t.Errorf("row %d, column %d: want slopes %v, got %v", row, column, want, s)
			}
		}
	}
}
