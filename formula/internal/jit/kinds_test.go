//go:build linux && (amd64 || arm64)

package jit

import (
	"testing"
	"unsafe"

	"github.com/opgen/opgen/internal/base/simd"
)

// TestKinds loads elements of other types and stores them: each length of a strip, with elements behind it
// that stay as they are.
func TestKinds(t *testing.T) {
	sets(t, func(t testing.TB, wide bool) {
		testKinds[float32](t, wide)
		testKinds[float64](t, wide)
	})
}

func testKinds[T simd.Float](t testing.TB, wide bool) {
	const all = 150
	words := make([]int32, all)
	longs := make([]int64, all)
	singles := make([]float32, all)
	truths := make([]bool, all)
	for i := range all {
		words[i], longs[i], singles[i], truths[i] = int32(i*i*7919-1<<20), int64(i)*123456789-1<<40, float32(i)/7-3, i%3 == 1
	}
	sources := map[Kind]struct {
		at unsafe.Pointer
		of func(i int) T
	}{
		Conditions: {unsafe.Pointer(&truths[0]), func(i int) T {
			if truths[i] {
				return 1
			}
			return 0
		}},
		Int32:  {unsafe.Pointer(&words[0]), func(i int) T { return T(words[i]) }},
		Int64:  {unsafe.Pointer(&longs[0]), func(i int) T { return T(longs[i]) }},
		Single: {unsafe.Pointer(&singles[0]), func(i int) T { return T(singles[i]) }},
	}
	for kind, source := range sources {
		b := NewBuilder(double[T](), wide)
		if !b.Loads(kind) {
			continue
		}
		from, add, out, flag, narrow := b.Pointer(), b.Scalar(), b.Pointer(), b.Pointer(), b.Pointer()
		x := b.LoadKind(from, kind)
		y := b.Add(x, b.Argument(add))
		b.Store(out, y, false)
		b.StoreKind(flag, y, Conditions)
		if b.Stores(Single) {
			b.StoreKind(narrow, y, Single)
		}
		code := b.Compile()
		if code == nil {
			t.Fatalf("kind %d: want code, got none", kind)
		}
		for n := range all {
			results, flags, narrowed := make([]T, all), make([]byte, all), make([]float32, all)
			for i := range all {
				results[i], flags[i], narrowed[i] = 7, 9, 5
			}
			a := code.Arguments()
			a.SetPointer(from, source.at)
			a.SetPointer(out, unsafe.Pointer(&results[0]))
			a.SetPointer(flag, unsafe.Pointer(&flags[0]))
			a.SetPointer(narrow, unsafe.Pointer(&narrowed[0]))
			Row[T](code, a, 0)[add] = -1
			code.Run(a, n, 1, false)
			for i := range all {
				want, truth, single := T(7), byte(9), float32(5)
				if i < n {
					if want, truth = source.of(i)-1, 1; want == 0 {
						truth = 0
					}
					if b.Stores(Single) {
						single = float32(want)
					}
				}
				if results[i] != want || flags[i] != truth || narrowed[i] != single {
					t.Fatalf("kind %d, element %d of %d: got %v, %d, %v, want %v, %d, %v", kind, i, n, results[i], flags[i], narrowed[i], want, truth, single)
				}
			}
		}
	}
}
