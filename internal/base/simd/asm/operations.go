package main

import (
	"fmt"
	"strings"
)

// enter notes that a function goes into the table of its element type, at the place that target names.
func (m *machine) enter(target, format, operation string) {
	m.set.note(m.double, fmt.Sprintf("t.%s = "+format, target, m.name(operation)))
}

// note adds a statement to those that enter functions into the table of an element type.
func (s *set) note(double bool, statement string) {
	i := 0
	if double {
		i = 1
	}
	s.entries[i] = append(s.entries[i], statement)
}

// lower begins a word with a small letter, as names of unexported functions do.
func lower(word string) string { return strings.ToLower(word[:1]) + word[1:] }

// unary emits the function of one element that the constant f of package simd names.
func (m *machine) unary(f string, unroll int, body func(value) value) {
	operation := lower(f)
	m.strip(operation, "z, x []T", "computes "+f+".", unroll, func(in map[string]value) value { return body(in["x"]) })
	m.enter("unary["+f+"]", "checkedUnary(%s)", operation)
}

// heavy is how many vectors of a long computation are worked on side by side: as many as registers suffice
// for.
func (m *machine) heavy() int {
	n := 2
	if m.wide() {
		n = 4
	}
	if m.double {
		n /= 2
	}
	return n
}

// most is n with the registers of AVX-512, and 1 with the half as many of AVX2: how many vectors of a
// computation that holds many values are worked on side by side.
func (m *machine) most(n int) int {
	if m.wide() {
		return n
	}
	return 1
}

func (m *machine) unaries() {
	f := m.functions()
	m.unary("Neg", 4, of(f.Neg))
	m.unary("Abs", 4, of(f.Abs))
	m.unary("Square", 4, of(f.Square))
	m.unary("Sqrt", 4, of(f.Sqrt))
	m.unary("Rsqrt", 4, of(f.Rsqrt))
	m.unary("Recip", 4, of(f.Recip))
	m.unary("Exp", m.heavy(), of(f.Exp))
	m.unary("Log", max(1, m.heavy()/2), of(f.Log))
	m.unary("Expm1", m.heavy(), of(f.Expm1))
	m.unary("Log1p", max(1, m.heavy()/2), of(f.Log1p))
	m.unary("Tanh", m.heavy(), of(f.Tanh))
	m.unary("Sigmoid", m.heavy(), of(f.Sigmoid))
	m.unary("Density", m.heavy(), of(f.Density))
	m.unary("Phi", m.most(2), of(f.Phi))
	m.unary("Floor", 4, of(f.Floor))
	m.unary("Ceil", 4, of(f.Ceil))
	m.unary("Round", 4, of(f.Even))
	m.unary("Sign", 2, of(f.Sign))
	m.unary("IsNaN", 4, of(f.IsNaN))
	m.unary("Not", 4, of(f.Not))
	m.turns("Sin", of(f.Sin))
	m.turns("Cos", of(f.Cos))
}

// turns emits a function that is right only for arguments up to SinBound.
func (m *machine) turns(f string, body func(value) value) {
	operation := lower(f)
	m.strip(operation, "z, x []T", "computes "+f+" of numbers up to the bound for sines.", m.heavy(),
		func(in map[string]value) value { return body(in["x"]) })
	m.enter("unary["+f+"]", "checkedTurn(%s, "+m.name("peak")+", t.unary["+f+"])", operation)
}

// binary emits the three functions of two elements for the constant f of package simd.
func (m *machine) binary(f string, unroll int, body func(x, y value) value) {
	operation := lower(f)
	compute := func(in map[string]value) value { return body(in["x"], in["y"]) }
	m.strip(operation, "z, x, y []T", "computes "+f+".", unroll, compute)
	m.enter("binary["+f+"]", "checkedBinary(%s)", operation)
	m.strip(operation+"Scalar", "z, x []T, y T", "computes "+f+" with the same y for all x.", unroll, compute)
	m.enter("binaryScalar["+f+"]", "checkedBinaryScalar(%s)", operation+"Scalar")
	m.strip("scalar"+f, "z []T, x T, y []T", "computes "+f+" with the same x for all y.", unroll, compute)
	m.enter("scalarBinary["+f+"]", "checkedScalarBinary(%s)", "scalar"+f)
}

// longPow emits the function that computes powers of float64 by logarithms.
func (m *machine) longPow() {
	f := m.functions()
	m.strip("longPow", "z, x, y []T", "computes powers of positive finite numbers with finite exponents.", 1,
		func(in map[string]value) value { return f.LongPow(in["x"], in["y"]).(value) })
}

func (m *machine) binaries() {
	f := m.functions()
	m.binary("Add", 4, ofTwo(f.Add))
	m.binary("Sub", 4, ofTwo(f.Sub))
	m.binary("Mul", 4, ofTwo(f.Mul))
	m.binary("Div", 4, ofTwo(f.Div))
	m.binary("Max", 2, ofTwo(f.Max))
	m.binary("Min", 2, ofTwo(f.Min))
	m.binary("Less", 4, ofTwo(f.Less))
	m.binary("AtMost", 4, ofTwo(f.AtMost))
	m.binary("Equal", 4, ofTwo(f.Equal))
	m.binary("Unequal", 4, ofTwo(f.Unequal))
	m.binary("And", 2, ofTwo(f.All))
	m.binary("Or", 2, ofTwo(f.Any))
}

func (m *machine) combinations() {
	m.strip("mulAdd", "z, w, x, y []T", "sets every z[i] to w[i]*x[i] + y[i].", 4, func(in map[string]value) value {
		return m.add(m.mul(in["w"], in["x"]), in["y"])
	})
	m.enter("mulAdd", "%s", "mulAdd")
	m.strip("mulAddScalar", "z, w []T, x T, y []T", "sets every z[i] to w[i]*x + y[i].", 4,
		func(in map[string]value) value { return m.add(m.mul(in["w"], in["x"]), in["y"]) })
	m.enter("mulAddScalar", "%s", "mulAddScalar")
	m.strip("mulSubFrom", "z, w, x, y []T", "sets every z[i] to y[i] - w[i]*x[i].", 4, func(in map[string]value) value {
		return m.sub(in["y"], m.mul(in["w"], in["x"]))
	})
	m.enter("mulSubFrom", "%s", "mulSubFrom")
	m.strip("mulSub", "z, w, x, y []T", "sets every z[i] to w[i]*x[i] - y[i].", 4, func(in map[string]value) value {
		return m.sub(m.mul(in["w"], in["x"]), in["y"])
	})
	m.enter("mulSub", "%s", "mulSub")
	m.strip("affine", "z, x []T, a, b, c, d T", "sets every z[i] to ((x[i]-a)-b)*c + d.", 4, func(in map[string]value) value {
		return m.add(m.mul(m.sub(m.sub(in["x"], in["a"]), in["b"]), in["c"]), in["d"])
	})
	m.enter("affine", "%s", "affine")
	m.strip("choose", "z, w, x, y []T", "sets every z[i] to x[i] where w[i] is not 0, and to y[i] where it is.", 4,
		func(in map[string]value) value {
			return m.functions().Select(in["w"], in["x"], in["y"]).(value)
		})
	m.enter("choose", "%s", "choose")
	m.strip("choosePositive", "z, w, x, y []T", "sets every z[i] to x[i] where w[i] is above 0, and to y[i] elsewhere.", 4,
		func(in map[string]value) value {
			return m.functions().SelectPositive(in["w"], in["x"], in["y"]).(value)
		})
	m.enter("choosePositive", "%s", "choosePositive")
}

// folding emits a fold and enters it into its table.
func (m *machine) folding(field, parameters, doc string, group, unroll int,
	body func(a value, in map[string]value) value) {
	operation := strings.TrimSuffix(field, "Into") + "Fold"
	m.fold(operation, parameters, doc, group, unroll, body)
	target := "fold1"
	switch {
	case strings.HasSuffix(parameters, " T"):
		target = "foldScalar"
	case strings.Contains(parameters, ","):
		target = "fold2"
	}
	m.enter(field, target+"(%s)", operation)
}

func (m *machine) folds() {
	m.folding("sumInto", "x []T", "adds elements to lanes.", 8, 4, func(a value, in map[string]value) value {
		return m.add(a, in["x"])
	})
	m.folding("prodInto", "x []T", "multiplies lanes by elements.", 8, 4, func(a value, in map[string]value) value {
		return m.mul(a, in["x"])
	})
	m.folding("maxInto", "x []T", "keeps the greatest of lanes and elements.", 8, 2,
		func(a value, in map[string]value) value { return m.functions().Max(a, in["x"]).(value) })
	m.folding("minInto", "x []T", "keeps the least of lanes and elements.", 8, 2,
		func(a value, in map[string]value) value { return m.functions().Min(a, in["x"]).(value) })
	m.folding("dotInto", "x, y []T", "adds products to lanes.", 8, 2, func(a value, in map[string]value) value {
		return m.add(a, m.mul(in["x"], in["y"]))
	})
	m.folding("expInto", "x []T, y T", "adds the exponentials of differences from y to lanes.", 4, m.most(m.heavy()),
		func(a value, in map[string]value) value { return m.add(a, m.functions().Exp(m.sub(in["x"], in["y"]))) })
	m.fold("peak", "x []T", "keeps the greatest of lanes and absolute values that are numbers.", 8, 2,
		func(a value, in map[string]value) value { return m.above(m.abs(in["x"]), a) })
}
