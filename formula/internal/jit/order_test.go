//go:build linux && (amd64 || arm64)

package jit

import (
	"math/rand/v2"
	"testing"
)

// TestOrder checks that the order of instructions keeps all of them, behind what they need, and behind
// earlier uses of memory that they write.
func TestOrder(t *testing.T) {
	for seed := range uint64(200) {
		b := NewBuilder(seed%2 == 0, false)
		program(rand.New(rand.NewPCG(seed, 6)), b, int(seed))
		c := &compiler{Builder: b, encoder: newEncoder(b)}
		c.analyze()
		const unroll = 4
		place := map[step]int{}
		for at, s := range c.order(way{unroll: unroll}) {
			place[s] = at
		}
		for i := range c.nodes {
			for u := range unroll {
				at, ok := place[step{int32(i), u}]
				if needed := c.live[i] && !leaf(c.nodes[i].op); ok != needed {
					t.Fatalf("seed %d: instruction %d of vector %d is there: %v, should be: %v", seed, i, u, ok, needed)
				}
				for k := range c.nodes[:i] {
					if before, there := place[step{int32(k), u}]; ok && there && before > at && c.mustPrecede(k, i) {
						t.Fatalf("seed %d: instruction %d is behind %d", seed, k, i)
					}
				}
			}
		}
	}
}

func leaf(op opcode) bool {
	return op == opConstant || op == opScalar || op == opInput || op == opLanes
}

// mustPrecede reports whether node k must precede a later node i: because i needs it, or because both use the
// same memory and one writes there.
func (c *compiler) mustPrecede(k, i int) bool {
	uses := map[place]bool{}
	for _, o := range c.nodes[k].operands() {
		if o != none {
			p, ok := placeOf(&c.nodes[o], 0)
			uses[p] = uses[p] || ok
		}
	}
	for _, o := range c.nodes[i].operands() {
		if o == none {
			continue
		}
		if p, ok := placeOf(&c.nodes[o], 0); o == int32(k) || ok && writes(c.nodes[k], p) {
			return true
		}
	}
	p, _ := placeOf(&c.nodes[i], 0)
	return writes(c.nodes[i], p) && (uses[p] || writes(c.nodes[k], p))
}

func writes(d node, p place) bool {
	at, ok := placeOf(&d, 0)
	return ok && !d.gives() && at == p
}

// TestInPlace stores to the slice of an input whose elements are used afterwards too, by more values than
// there are registers.
func TestInPlace(t *testing.T) {
	sets(t, func(t testing.TB, wide bool) {
		b := NewBuilder(false, wide)
		in, same, sum := b.Pointer(), b.Pointer(), b.Pointer()
		x := b.Input(in)
		var values []Value
		for i := range 40 {
			values = append(values, b.Mul(x, b.Number(float64(i))))
		}
		b.Store(same, b.Add(x, b.Number(1)), false)
		total := x
		for _, v := range values {
			total = b.Add(total, b.Mul(v, v))
		}
		b.Store(sum, b.Add(total, x), false)
		c := b.Compile()
		if c == nil {
			t.Fatal("no code")
		}
		for n := range 70 {
			z, got := make([]float32, n), make([]float32, n)
			for i := range z {
				z[i] = float32(i)
			}
			run(c, [][]float32{z, z, got}, nil, n, false)
			for i := range z {
				v := float32(i)
				want := v
				for k := range 40 {
					y := v * float32(k)
					want += float32(y * y)
				}
				if want += v; got[i] != want || z[i] != v+1 {
					t.Fatalf("wide %v, element %d of %d: got %v and %v, want %v and %v", wide, i, n, z[i], got[i], v+1, want)
				}
			}
		}
	})
}
