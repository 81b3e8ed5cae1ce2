//go:build cuda

package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
)

// TestHalves compares the conversions of the prelude with those of package dtype: from all numbers of 16
// bits, and to them from as many others and from those between two neighbors.
func TestHalves(t *testing.T) {
	const n = 1 << 16
	for _, typ := range []dtype.Type{dtype.F16, dtype.BF16} {
		packed, _ := typ.Packed()
		source := strings.ReplaceAll(`
extern "C" __global__ void from_TYPE_all(const float *in, float *out) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = from_TYPE((u16)in[i]);
}
extern "C" __global__ void to_TYPE_all(const float *in, float *out) {
	i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = (float)to_TYPE(in[i]);
}`, "TYPE", typ.String())
		run := func(entry string, values []float32) []float32 {
			_, x, err := load(t, &code{source: source, launches: []gpu.Launch{wide(strings.ReplaceAll(entry, "TYPE", typ.String()), n, in, out)}}, 1, 1, 1, n)
			if err != nil {
				t.Fatal(err)
			}
			feed(t, x, values)
			if err := x.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return fetch(t, x, 0)
		}
		stored, all := make([]byte, 2*n), make([]float32, n)
		for i := range n {
			binary.LittleEndian.PutUint16(stored[2*i:], uint16(i))
		}
		packed.Decode(all, stored)
		for i, v := range run("from_TYPE_all", ramp(n)) {
			if math.Float32bits(v) != math.Float32bits(all[i]) && !(math.IsNaN(float64(v)) && math.IsNaN(float64(all[i]))) {
				t.Fatalf("from %v: %#x is %v, want %v", typ, i, v, all[i])
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			values := make([]float32, n)
			for i := range values {
				values[i] = math.Float32frombits(r.Uint32())
				if next := all[(i+1)%n]; i%2 == 0 && !math.IsInf(float64(next), 0) && !math.IsInf(float64(all[i]), 0) {
					values[i] = all[i]/2 + next/2
				}
				if i%8 == 0 {
					values[i] = math.Float32frombits(math.Float32bits(all[i]) + r.Uint32N(3) - 1)
				}
			}
			packed.Encode(stored, values)
			for i, v := range run("to_TYPE_all", values) {
				want := binary.LittleEndian.Uint16(stored[2*i:])
				if nan := math.IsNaN(float64(values[i])); !nan && uint16(v) != want || nan && uint16(v)&0x7fff <= map[dtype.Type]uint16{dtype.F16: 0x7c00, dtype.BF16: 0x7f80}[typ] {
					t.Fatalf("to %v: %v (%#x) is %#x, want %#x", typ, values[i], math.Float32bits(values[i]), uint16(v), want)
				}
			}
		}
	}
}
