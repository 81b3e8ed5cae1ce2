package loops

import (
	"math"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// exec runs the code on n elements, from the iteration in the state's variables on.
func (p *strip[T]) exec(s *state[T], n int) {
	if s.stop != nil {
		s.look()
	}
	for i := 0; i < len(p.code); i++ {
		switch in := &p.code[i]; {
		case in.op == opView:
			in.view(s, n)
		case in.op == opLoop:
			in.loop.run(s, n)
		case in.op == opBranch:
			if !in.when(s) {
				i += in.skip
			}
		case in.to != nil && in.def >= 0:
			in.execInto(s, n)
		default:
			in.exec(s, n)
		}
	}
}

// view makes the register a view of n elements of a tensor.
func (in *instruction[T]) view(s *state[T], n int) {
	i := in.from.at(s)
	s.regs[in.def] = s.mem[in.from.tensor].same[i : i+n]
}

// execInto runs an instruction whose result is n elements of a tensor, without a buffer.
func (in *instruction[T]) execInto(s *state[T], n int) {
	i := in.to.at(s)
	out := s.mem[in.to.tensor].same[i : i+n]
	if in.past && s.past {
		s.regs[in.def] = s.regs[in.holds[0]][:n]
		in.exec(s, n)
		simd.Stream(out, s.regs[in.def])
		return
	}
	s.regs[in.def] = out
	in.exec(s, n)
}

// exec runs an instruction on n elements.
func (in *instruction[T]) exec(s *state[T], n int) {
	if in.op == opOther {
		in.other.exec(s, in, n)
		return
	}
	var z, x []T
	if in.def >= 0 {
		z = s.regs[in.def][:n]
	}
	if len(in.uses) > 0 {
		x = s.regs[in.uses[0]][:n]
	}
	switch in.op {
	case opKeep:
		copy(z, x)
		s.regs[in.uses[0]] = s.regs[in.def]
	case opLoad:
		in.from.storage.load(&s.mem[in.from.tensor], z, in.from.at(s), in.from.step)
	case opFill:
		fill(z, in.number(s, 0))
	case opCopy:
		copy(z, x)
	case opUnary:
		in.simd.unary(z, x)
	case opBinary:
		in.simd.binary(z, x, in.reg(s, 1, n))
	case opBinaryNumber:
		in.simd.second(z, x, in.number(s, 0))
	case opNumberBinary:
		in.simd.first(z, in.number(s, 0), x)
	case opMulAdd:
		simd.MulAdd(z, x, in.reg(s, 1, n), in.reg(s, 2, n))
	case opMulAddNumber:
		simd.MulAddScalar(z, x, in.number(s, 0), in.reg(s, 1, n))
	case opMulSub:
		simd.MulSub(z, x, in.reg(s, 1, n), in.reg(s, 2, n))
	case opMulSubFrom:
		simd.MulSubFrom(z, x, in.reg(s, 1, n), in.reg(s, 2, n))
	case opAffine:
		less, low, times, plus := in.terms(s)
		simd.Affine(z, x, less, low, times, plus)
	case opSelect:
		simd.Select(z, x, in.reg(s, 1, n), in.reg(s, 2, n))
	case opSelectPositive:
		simd.SelectPositive(z, x, in.reg(s, 1, n), in.reg(s, 2, n))
	case opSumLanes, opDotLanes, opExpLanes, opFoldLanes:
		in.fold(s, x)
	case opFoldRows:
		acc := s.regs[in.def][:in.at]
		for i := 0; i < n; i += in.at {
			in.simd.binary(acc, acc, x[i:i+in.at])
		}
	case opStore:
		in.store(s, x)
	default:
		in.execElements(s, z, n)
	}
}

// reg returns the first n elements of the i-th register that the instruction reads.
func (in *instruction[T]) reg(s *state[T], i, n int) []T { return s.regs[in.uses[i]][:n] }

// number returns the i-th scalar operand.
func (in *instruction[T]) number(s *state[T], i int) T { return T(in.numbers[i].get(s)) }

// fold reduces the elements of x into the lanes of the instruction's reduction.
func (in *instruction[T]) fold(s *state[T], x []T) {
	switch lanes := &s.lanes[in.lane]; {
	case in.op == opSumLanes:
		simd.SumInto(lanes, x)
	case in.op == opDotLanes:
		simd.DotInto(lanes, x, s.regs[in.uses[1]][:len(x)])
	case in.op == opExpLanes:
		simd.ExpInto(lanes, x, in.number(s, 0))
	case in.binary == simd.Mul:
		simd.ProdInto(lanes, x)
	case in.binary == simd.Max:
		simd.MaxInto(lanes, x)
	default:
		simd.MinInto(lanes, x)
	}
}

// execElements runs operations that fused loops cannot contain.
func (in *instruction[T]) execElements(s *state[T], z []T, n int) {
	switch in.op {
	case opNarrow:
		for i, v := range s.regs[in.uses[0]][:n] {
			z[i] = T(float32(v))
		}
	case opCount:
		v := in.from.at(s)
		for i := range z {
			z[i] = T(v)
			v += in.from.step
		}
	case opStretch:
		in.fillCompared(s, z)
	case opRests:
		rests(any(z).([]float32), s.mem[in.from.tensor].f64, in.from.at(s), in.from.step)
	case opFunction:
		x := s.numbers[in.at:][:len(in.uses):len(in.uses)] // a new slice would be allocated per call
		for i := range z {
			for k, a := range in.uses {
				x[k] = float64(s.regs[a][i])
			}
			z[i] = T(in.of.Real(x...))
		}
	case opNumbers:
		first := s.vars[in.at]
		for i := range z {
			s.vars[in.at] = first + i
			z[i] = in.number(s, 0)
		}
		s.vars[in.at] = first
	case opStoreNumber:
		in.storeNumber(s, in.number(s, 0), n)
	case opMove:
		in.from.storage.move(&s.mem[in.to.tensor], in.to.at(s), in.to.step, &s.mem[in.from.tensor], in.from.at(s), in.from.step, n)
	}
}

// rests sets z to the rounding errors, in float32, of strided float64 elements. The stride may be negative.
func rests(z []float32, x []float64, first, step int) {
	if step == 1 {
		simd.Rests(z, x[first:first+len(z)])
		return
	}
	for i := range z {
		v := x[first+i*step]
		z[i] = float32(lowOf(v, float32(v)))
	}
}

// terms returns the scalars of opAffine. Absent ones are neutral for every x, even for a negative zero.
func (in *instruction[T]) terms(s *state[T]) (less, low, times, plus T) {
	less, low, times, plus = 0, 0, 1, T(math.Copysign(0, -1))
	if f := in.numbers[affineLess].get; f != nil {
		v := f(s)
		if less = T(v); in.numbers[affineLow].low {
			low = lowOf(v, less)
		}
	}
	if f := in.numbers[affineTimes].get; f != nil {
		times = T(f(s))
	}
	if f := in.numbers[affinePlus].get; f != nil {
		plus = T(f(s))
	}
	return less, low, times, plus
}

// store stores the elements of x to memory, with a stride and a conversion.
func (in *instruction[T]) store(s *state[T], x []T) {
	a, n := in.to, len(x)
	i, b := a.at(s), &s.mem[a.tensor]
	switch {
	case a.typ == dtype.Of[T]() && a.step == 1:
		switch out := b.same[i : i+n]; {
		case in.add:
			simd.BinaryOf[T](simd.Add)(out, out, x)
		case in.past && s.past:
			simd.Stream(out, x)
		default:
			copy(out, x)
		}
	case a.typ == dtype.Of[T]() && !in.add:
		simd.Scatter(b.same, x, i, a.step)
	case a.typ == dtype.F32 && a.step == 1:
		given(b.f32[i:i+n], x, in.add)
	case a.typ == dtype.F64 && a.step == 1:
		given(b.f64[i:i+n], x, in.add)
	case a.typ == dtype.Bool:
		for _, v := range x {
			b.bits[i] = v != 0
			i += a.step
		}
	default:
		for _, v := range x {
			a.put(b, i, float64(v))
			i += a.step
		}
	}
}

// storeNumber stores a scalar to contiguous elements of type T.
func (in *instruction[T]) storeNumber(s *state[T], v T, n int) {
	i := in.to.at(s)
	switch out := s.mem[in.to.tensor].same[i : i+n]; {
	case in.add:
		simd.BinaryScalarOf[T](simd.Add)(out, out, v)
	case in.past && s.past:
		fill(s.beside[:n], v)
		simd.Stream(out, s.beside[:n])
	default:
		fill(out, v)
	}
}
