package simd

import "math"

// portable returns the functions in Go. They define the results that all instructions give.
func portable[T Float]() *table[T] {
	t := &table[T]{
		mulAdd: mulAdd[T], mulSub: mulSub[T], mulSubFrom: mulSubFrom[T], mulAddScalar: mulAddScalar[T], affine: affine[T],
		choose: choose[T], choosePositive: choosePositive[T],
		sumInto: sumInto[T], prodInto: prodInto[T], maxInto: maxInto[T], minInto: minInto[T],
		dotInto: dotInto[T], squaresInto: squaresInto[T], expInto: elementaryOf[T]().expInto,
		sumLanes: sumLanes[T], prodLanes: prodLanes[T], maxLanes: maxLanes[T], minLanes: minLanes[T],
		sumAt: sumAt[T], reverse: reverse[T], twice: twice[T], addSeconds: addSeconds[T], truths: truths[T], runningSums: runningSums[T],
		intoFilters: intoFilters[T], splitRows: splitRows[T], intoTiles: intoTiles[T], outOfTiles: outOfTiles[T],
	}
	// What a set of instructions does not have is made of what it has.
	t.sumRows = func(z, x []T, n, apart int) { foldRows(z, x, n, apart, 0, t.sumInto, t.sumLanes) }
	t.maxRows = func(z, x []T, n, apart int) { foldRows(z, x, n, apart, T(math.Inf(-1)), t.maxInto, t.maxLanes) }
	t.minRows = func(z, x []T, n, apart int) { foldRows(z, x, n, apart, T(math.Inf(1)), t.minInto, t.minLanes) }
	switch t := any(t).(type) {
	case *table[float32]:
		t.tiles, t.side = portableTiles(addRow32), 8
	case *table[float64]:
		t.tiles, t.side = portableTiles(addRow64), 4
	}
	for f, g := range unaryFunctions[T]() {
		t.unary[f] = func(z, x []T) {
			check(len(z), len(x), len(x), len(x))
			for i, v := range x {
				z[i] = g(v)
			}
		}
	}
	for f, g := range binaryFunctions[T]() {
		t.setBinary(Binary(f), g)
	}
	t.setArithmetic()
	return t
}

// setBinary sets the entries of f to loops that call g.
func (t *table[T]) setBinary(f Binary, g func(x, y T) T) {
	t.binary[f] = func(z, x, y []T) {
		check(len(z), len(x), len(y), len(y))
		for i, v := range x {
			z[i] = g(v, y[i])
		}
	}
	t.binaryScalar[f] = func(z, x []T, y T) {
		check(len(z), len(x), len(x), len(x))
		for i, v := range x {
			z[i] = g(v, y)
		}
	}
	t.scalarBinary[f] = func(z []T, x T, y []T) {
		check(len(z), len(y), len(y), len(y))
		for i, v := range y {
			z[i] = g(x, v)
		}
	}
}

func truth[T Float](v bool) T {
	if v {
		return 1
	}
	return 0
}

func unaryFunctions[T Float]() [unaries]func(T) T {
	e := elementaryOf[T]()
	real := func(f func(float64) float64) func(T) T { return func(x T) T { return T(f(float64(x))) } }
	return [unaries]func(T) T{
		Neg:     func(x T) T { return -x },
		Abs:     real(math.Abs),
		Square:  func(x T) T { return x * x },
		Sqrt:    root[T],
		Rsqrt:   func(x T) T { return 1 / root(x) },
		Recip:   func(x T) T { return 1 / x },
		Exp:     e.exp,
		Log:     e.log,
		Expm1:   e.expm1,
		Log1p:   e.log1p,
		Sin:     e.sin,
		Cos:     e.cos,
		Tanh:    e.tanh,
		Sigmoid: e.sigmoid,
		Phi:     e.phi,
		Density: e.density,
		Floor:   real(math.Floor),
		Ceil:    real(math.Ceil),
		Round:   real(math.RoundToEven),
		Sign:    func(x T) T { return truth[T](x > 0) - truth[T](x < 0) },
		IsNaN:   func(x T) T { return truth[T](x != x) },
		Not:     func(x T) T { return truth[T](x == 0) },
	}
}

// root returns the square root, rounded once: of a float32, the root in float64 rounds to the same.
func root[T Float](x T) T { return T(math.Sqrt(float64(x))) }

func binaryFunctions[T Float]() [binaries]func(x, y T) T {
	return [binaries]func(x, y T) T{
		Add:     func(x, y T) T { return x + y },
		Sub:     func(x, y T) T { return x - y },
		Mul:     func(x, y T) T { return x * y },
		Div:     func(x, y T) T { return x / y },
		Max:     func(x, y T) T { return max(x, y) },
		Min:     func(x, y T) T { return min(x, y) },
		Pow:     powOf[T](),
		Less:    func(x, y T) T { return truth[T](x < y) },
		AtMost:  func(x, y T) T { return truth[T](x <= y) },
		Equal:   func(x, y T) T { return truth[T](x == y) },
		Unequal: func(x, y T) T { return truth[T](x != y) },
		And:     func(x, y T) T { return truth[T](x != 0 && y != 0) },
		Or:      func(x, y T) T { return truth[T](x != 0 || y != 0) },
	}
}
