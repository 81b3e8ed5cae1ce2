package vec

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// near returns windows of three by three pixels on planes with padding.
func near(height, width, paddingH, paddingW int) *Windows {
	return &Windows{Height: height, Width: width, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PaddingH: paddingH, PaddingW: paddingW, DilationH: 1, DilationW: 1,
		Rows: height + 2*paddingH - 2, Cols: width + 2*paddingW - 2}
}

func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// small returns small integers, of which all sums are exact.
func small(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(9) - 4)
	}
	return x
}

// correlation is filters and images, and what is known about them.
type correlation struct {
	w       *Windows
	x       factor[float32]
	images  []float32
	n       int
	results int // of all images
}

func correlationOf(r *rand.Rand, draw func(r *rand.Rand, n int) []float32, w *Windows, n, planes, filters int, turned bool) correlation {
	ld := 9 * planes
	if turned {
		ld = 9 * filters
	}
	x := factor[float32]{draw(r, 9*planes*filters), ld, filters, planes, 9, turned}
	return correlation{w, x, draw(r, n*planes*w.Height*w.Width), n, n * filters * w.Rows * w.Cols}
}

// compute computes a correlation with few products, or with all.
func (c *correlation) compute(few bool, to []float32, add bool) {
	k, put := correlators[float32]()
	defer put()
	way := k.all
	if few {
		way = k.few
	}
	way(to, c.w.Rows*c.w.Cols, &c.x, c.images, c.n, c.w, 0, c.w.Rows, add)
}

// sum returns result q of filter o of image n, and the sum of the absolute values of products, in float64.
func (c *correlation) sum(n, o, q int) (sum, size float64) {
	for p := range c.x.planes {
		for e := range 9 {
			h, v := q/c.w.Cols+e/3-c.w.PaddingH, q%c.w.Cols+e%3-c.w.PaddingW
			if h < 0 || h >= c.w.Height || v < 0 || v >= c.w.Width {
				continue
			}
			at := o*c.x.ld + 9*p + e
			if c.x.turned {
				at = p*c.x.ld + 9*o + 8 - e
			}
			y := float64(c.x.f[at]) * float64(c.images[((n*c.x.planes+p)*c.w.Height+h)*c.w.Width+v])
			sum, size = sum+y, size+math.Abs(y)
		}
	}
	return sum, size
}

// TestFewProducts compares correlations with few products of small integers, of which all sums are exact,
// with those of all products: for images of all sizes up to some tiles, with all paddings, for several
// strips, and for filters and planes that fill tiles of products and that do not.
func TestFewProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(c correlation) {
		t.Helper()
		for _, add := range []bool{false, true} {
			want := small(r, c.results)
			got := slices.Clone(want)
			c.compute(false, want, add)
			c.compute(true, got, add)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v, %d images, %d planes, %d filters, turned %v, add %v: want %v, got %v", *c.w, c.n, c.x.planes, c.x.rows, c.x.turned, add, want, got)
			}
		}
	}
	for height := 1; height <= 9; height++ {
		for width := 1; width <= 40; width += 1 + width/9 {
			for padding := range 16 {
				if w := near(height, width, padding/4, padding%4); w.Rows > 0 && w.Cols > 0 {
					check(correlationOf(r, small, w, 1+height%3, 1+width%3, 1+padding%3, padding%2 == 1))
				}
			}
		}
	}
	for _, s := range [][5]int{ // images, planes, filters, height and width
		{2, 40, 40, 31, 30}, {3, 64, 8, 29, 56}, {5, 30, 70, 14, 14}, {1, 300, 20, 16, 15}, {2, 513, 3, 5, 6}, {1, 24, 24, 5, 800}, {7, 100, 1, 8, 8},
	} {
		for _, turned := range []bool{false, true} {
			check(correlationOf(r, small, near(s[3], s[4], 1, 1), s[0], s[1], s[2], turned))
		}
	}
}

// TestFewProductsOfParts computes images alone and together: results have the same bits. They are those of
// all sets of instructions, too.
func TestFewProductsOfParts(t *testing.T) {
	c := correlationOf(rand.New(rand.NewPCG(3, 4)), normals, near(15, 22, 1, 1), 5, 33, 21, false)
	all, each := make([]float32, c.results), c.results/c.n
	c.compute(true, all, false)
	for n := range c.n {
		one, got := c, make([]float32, each)
		one.n, one.images = 1, c.images[len(c.images)/c.n*n:]
		one.compute(true, got, false)
		if !slices.Equal(got, all[n*each:(n+1)*each]) {
			t.Errorf("image %d alone has other results than together with others", n)
		}
	}
	h := fnv.New64a()
	for _, v := range all {
		fmt.Fprintf(h, "%08x", math.Float32bits(v))
	}
	if got, want := h.Sum64(), uint64(0x9417dbf1bcd2f5be); got != want {
		t.Errorf("want the bits whose hash is %#x, got %#x", want, got)
	}
}

// TestFewProductsAreNear compares errors with those of all products, beside sums in float64, in units of
// 2^-24 of the sum of absolute products.
func TestFewProductsAreNear(t *testing.T) {
	positive := func(r *rand.Rand, n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	for _, s := range []struct {
		planes, filters int
		draw            func(r *rand.Rand, n int) []float32
		worst, mean     float64 // errors are less
	}{
		{32, 24, normals, 2.5, 0.3}, {64, 16, normals, 2.5, 0.3}, {256, 8, normals, 2.5, 0.3}, {512, 8, normals, 2.5, 0.3}, {64, 16, positive, 16, 2.5}, {256, 8, positive, 20, 4},
	} {
		if testing.Short() && s.planes > 64 {
			continue // one goroutine computes, and the race detector makes it many times slower
		}
		c := correlationOf(rand.New(rand.NewPCG(5, uint64(s.planes))), s.draw, near(20, 20, 1, 1), 1, s.planes, s.filters, false)
		var worst, mean [2]float64
		for i, few := range []bool{false, true} {
			got := make([]float32, c.results)
			c.compute(few, got, false)
			for at, v := range got {
				sum, size := c.sum(0, at/400, at%400)
				e := math.Abs(float64(v)-sum) / size * (1 << 24)
				worst[i], mean[i] = max(worst[i], e), mean[i]+e/float64(len(got))
			}
		}
		t.Logf("%d planes: errors at most %.2f, of all products %.2f; in the mean %.3f, of all products %.3f", s.planes, worst[1], worst[0], mean[1], mean[0])
		if worst[1] > s.worst || mean[1] > s.mean || mean[1] > 3.2*mean[0] {
			t.Errorf("%d planes: want errors up to %v, and in the mean up to %v and 3.2 times that of all products, %v; got %v and %v", s.planes, s.worst, s.mean, mean[0], worst[1], mean[1])
		}
	}
}

// TestFewProductsOfInfinities puts a number that is not finite, or whose transforms are not, into an image,
// or into a filter, too. Results are those of all products.
func TestFewProductsOfInfinities(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for i, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32} {
		for _, size := range []int{13, 60} { // copies are of whole images, and of parts
			for _, add := range []bool{false, true} {
				c := correlationOf(r, small, near(size, size+i, 1, 1), 3, 30, 20, add)
				c.images[r.IntN(len(c.images))] = float32(v)
				if i%2 == 0 {
					c.x.f[r.IntN(len(c.x.f))] = float32(v)
				}
				want := small(r, c.results)
				got := slices.Clone(want)
				c.compute(true, got, add)
				c.compute(false, want, add)
				for at := range got {
					if got[at] != want[at] && (got[at] == got[at] || want[at] == want[at]) {
						t.Fatalf("%v, %d x %d, add %v: result %d: want %v, got %v", v, size, size+i, add, at, want[at], got[at])
					}
				}
			}
		}
	}
}

// TestFewProductsPay checks for which windows few products are chosen.
func TestFewProductsPay(t *testing.T) {
	apart := *near(56, 56, 1, 1)
	apart.DilationW, apart.Cols = 2, 54
	for _, c := range []struct {
		filters, planes int
		w               *Windows
		want            bool
	}{
		{64, 64, near(56, 56, 1, 1), true},
		{64, 64, near(14, 14, 1, 1), true},
		{32, 32, near(18, 18, 1, 1), true},
		{32, 32, near(17, 17, 1, 1), false},
		{64, 64, near(40, 600, 1, 1), false},
		{512, 512, near(7, 7, 1, 1), false},
		{64, 3, near(224, 224, 1, 1), false},
		{32, 16, near(8, 8, 1, 1), false},
		{2, 64, near(16, 16, 1, 1), false},
		{64, 64, near(3, 400, 1, 1), false},
		{64, 256, near(8, 400, 1, 1), false},
		{64, 64, &apart, false},
	} {
		if got := fewProducts[float32](c.filters, c.planes, c.w); got != c.want {
			t.Errorf("%d filters of %d planes, %+v: want %v, got %v", c.filters, c.planes, *c.w, c.want, got)
		}
		if fewProducts[float64](c.filters, c.planes, c.w) {
			t.Errorf("float64, %d filters of %d planes, %+v: few products are chosen", c.filters, c.planes, *c.w)
		}
	}
}

// BenchmarkCorrelate measures correlations with all products and with few.
func BenchmarkCorrelate(b *testing.B) {
	for _, s := range []struct{ images, planes, filters, size int }{
		{8, 64, 64, 56}, {1, 64, 64, 56}, {8, 128, 128, 28}, {1, 128, 128, 28}, {8, 256, 256, 14}, {1, 256, 256, 14}, {1, 64, 64, 14}, {8, 512, 512, 7}, {32, 16, 32, 8},
		{1, 3, 64, 224}, {1, 16, 16, 56}, {1, 32, 32, 56}, {1, 32, 32, 28}, {1, 64, 64, 224},
	} {
		c := correlationOf(rand.New(rand.NewPCG(8, 9)), normals, near(s.size, s.size, 1, 1), s.images, s.planes, s.filters, false)
		to := make([]float32, c.results)
		for _, few := range []bool{false, true} {
			name := map[bool]string{false: "all", true: "few"}[few]
			b.Run(fmt.Sprintf("%dx%dx%d to %d, %d images/%s", s.planes, s.size, s.size, s.filters, s.images, name), func(b *testing.B) {
				for b.Loop() {
					c.compute(few, to, false)
				}
			})
		}
	}
}
