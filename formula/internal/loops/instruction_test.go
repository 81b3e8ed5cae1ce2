package loops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// pure lists instructions of every operation that compiled loops hold and that uses no memory: on registers 0
// to 2, with result 3.
func pure[T simd.Float]() []instruction[T] {
	constant := constantNumber[T]
	var out []instruction[T]
	for op := range len(unaryNames) {
		out = append(out, instruction[T]{op: opUnary, unary: simd.Unary(op), uses: []int{0}})
	}
	for op := range len(binaryNames) {
		op := simd.Binary(op)
		out = append(out, instruction[T]{op: opBinary, binary: op, uses: []int{0, 1}},
			instruction[T]{op: opBinary, binary: op, uses: []int{3, 1}, folds: true},
			instruction[T]{op: opBinaryNumber, binary: op, uses: []int{0}, numbers: []number[T]{constant(0.75)}},
			instruction[T]{op: opNumberBinary, binary: op, uses: []int{0}, numbers: []number[T]{constant(-3)}})
		if op == simd.Mul || op == simd.Max || op == simd.Min {
			out = append(out, instruction[T]{op: opFoldLanes, binary: op, uses: []int{0}, lane: 1})
		}
	}
	for _, op := range []opcode{opMulAdd, opMulSub, opMulSubFrom, opSelect, opSelectPositive} {
		out = append(out, instruction[T]{op: op, uses: []int{0, 1, 2}})
	}
	for bits := range 16 {
		numbers := make([]number[T], affineNumbers)
		for i, v := range []float64{1.0 / 3, 0, 3, -7} {
			if bits&(1<<i) != 0 && i != affineLow {
				numbers[i] = constant(v)
			}
		}
		if numbers[affineLow].low = bits&(1<<affineLow) != 0; bits == 0 || numbers[affineLow].low && bits&(1<<affineLess) == 0 {
			continue
		}
		out = append(out, instruction[T]{op: opAffine, uses: []int{0}, numbers: numbers})
	}
	return append(out,
		instruction[T]{op: opFill, numbers: []number[T]{constant(0.1)}}, instruction[T]{op: opCopy, uses: []int{1}},
		instruction[T]{op: opMulAddNumber, uses: []int{0, 1}, numbers: []number[T]{constant(1.1)}},
		instruction[T]{op: opSumLanes, uses: []int{0}}, instruction[T]{op: opDotLanes, uses: []int{0, 1}, lane: 1},
		instruction[T]{op: opExpLanes, uses: []int{2}, numbers: []number[T]{constant(2)}})
}

// TestInstructions compares what strips give with what compiled loops give, bit by bit, for each operation
// that both have.
func TestInstructions(t *testing.T) {
	t.Run("f32", instructions[float32])
	t.Run("f64", instructions[float64])
}

func instructions[T simd.Float](t *testing.T) {
	bytes := simd.Vector()
	if bytes == 0 || !jit.Available() {
		t.Skip("no machine code here")
	}
	own := dtype.Of[T]()
	can := jit.NewBuilder(own == dtype.F64, bytes == 64)
	const n = 103
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300, -90}
	given := make([][]T, 3)
	for i := range given {
		for range n {
			v := r.NormFloat64()
			if r.IntN(4) == 0 && i < 2 {
				v = special[r.IntN(len(special))]
			}
			given[i] = append(given[i], T(v))
		}
	}
	run := func(in instruction[T], compiled, accumulate bool) (*state[T], bool) {
		c := &compiler[T]{own: own, places: map[*term.Variable]int{}}
		z := newVectorizer(c, nil)
		z.strip.accumulate = accumulate
		if in.op.toLanes() {
			z.effect(in)
		} else {
			in.def = 3
			z.emit(in)
		}
		if !in.op.summed() { // a single instruction stays alone
			z.emit(instruction[T]{op: opUnary, unary: simd.Neg, uses: []int{0}, def: 4})
		}
		if compiled {
			c.fuse(&z.strip)
		}
		s := &state[T]{regs: make([][]T, 5)}
		for i := range s.regs {
			s.regs[i] = make([]T, n)
			if i < 3 {
				copy(s.regs[i], given[i])
			}
		}
		copy(s.regs[3], given[2])
		if in.op == opFoldLanes && in.binary == simd.Mul {
			s.lanes[1].Fill(1)
		}
		for _, l := range c.loops {
			s.arguments = append(s.arguments, l.Arguments())
		}
		z.strip.exec(s, n)
		if !accumulate && in.op.summed() && !compiled {
			s.totals[in.lane] = float64(s.lanes[in.lane].Sum())
			s.lanes[in.lane] = simd.Lanes[T]{}
		}
		return s, z.strip.code[0].op == opLoop && len(z.strip.code) == 1
	}
	same := func(a, b T) bool {
		return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
	}
	count := 0
	for _, in := range pure[T]() {
		probe := in
		if !probe.fusable(can) {
			continue
		}
		count++
		for _, accumulate := range []bool{false, true} {
			name := fmt.Sprintf("operation %d, %s, %s, %v", in.op, unaryNames[in.unary], binaryNames[in.binary], accumulate)
			want, _ := run(in, false, accumulate)
			got, loop := run(in, true, accumulate)
			if !loop {
				t.Errorf("%s: not one compiled loop", name)
				continue
			}
			for k := range want.regs {
				for i := range n {
					if !same(want.regs[k][i], got.regs[k][i]) {
						t.Errorf("%s: element %d of register %d is %v, want %v", name, i, k, got.regs[k][i], want.regs[k][i])
						break
					}
				}
			}
			for k := range want.lanes {
				if !same(T(want.totals[k]), T(got.totals[k])) {
					t.Errorf("%s: sum %d is %v, want %v", name, k, got.totals[k], want.totals[k])
				}
				for i := range want.lanes[k] {
					if !same(want.lanes[k][i], got.lanes[k][i]) {
						t.Errorf("%s: lane %d of %d is %v, want %v", name, i, k, got.lanes[k][i], want.lanes[k][i])
						break
					}
				}
			}
		}
	}
	if count < 70 {
		t.Errorf("%d instructions were compared", count)
	}
}
