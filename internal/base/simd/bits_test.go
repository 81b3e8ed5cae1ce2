package simd

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBits compares all functions in Go with the bits that they gave when the test was written, on amd64:
// they are the same on all processors. All NaN count as one.
//
// A function that is added changes both numbers. All others keep their bits if the numbers from before come
// out as long as calls leaves the new one out: without log1p they are 0xb359e0b9708f10d2 and
// 0x460a4a728c06313.
func TestBits(t *testing.T) {
	defer chosen.use()
	sets[0].use()
	if got, want := bitsOfAll(t, functions32), uint64(0x9b8de293bd123066); got != want {
		t.Errorf("float32: want %#x, got %#x", want, got)
	}
	if got, want := bitsOfAll(t, functions64), uint64(0x96e647901d0aee6f); got != want {
		t.Errorf("float64: want %#x, got %#x", want, got)
	}
}

// exact returns random numbers of many sizes, each by operations that are exact: other random numbers depend
// on how package math computes.
func exact[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.Ldexp(float64(int32(r.Uint32())>>8), r.IntN(14)-30))
	}
	return x
}

func bitsOfAll[T Float](t *testing.T, table *table[T]) uint64 {
	r := rand.New(rand.NewPCG(21, 22))
	hash := fnv.New64a()
	add := func(x []T) {
		for _, v := range x {
			b := math.Float64bits(float64(v))
			if v != v {
				b = 1
			}
			var bytes [8]byte
			for i := range bytes {
				bytes[i] = byte(b >> (8 * i))
			}
			hash.Write(bytes[:])
		}
	}
	for range 20 {
		w, x, y := exact[T](r, 777), exact[T](r, 777), exact[T](r, 777)
		for _, c := range calls[T]() {
			z, a := make([]T, 777), new(Lanes[T])
			a.Fill(1)
			c.run(table, z, w, x, y, a)
			add(z)
			add(a[:])
		}
	}
	for range 20 {
		x, y := exact[T](r, 8*200), exact[T](r, 8*200)
		for i, sizes := range table.tiles {
			for j, s := range sizes {
				z := make([]T, s.rows*s.cols)
				Tile(i, j, z, s.cols, x, 1, 8, y, 8, 200, false)
				add(z)
			}
		}
	}
	return hash.Sum64()
}
