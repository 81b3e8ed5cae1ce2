package simd

import "math"

// portable returns the functions in Go. They define the results that all instructions give.
func portable[T Float]() *table[T] {
	t := &table[T]{
		mulAdd: mulAdd[T], mulSub: mulSub[T], mulSubFrom: mulSubFrom[T], mulAddScalar: mulAddScalar[T], affine: affine[T],
		choose: choose[T], choosePositive: choosePositive[T],
		sumInto: sumInto[T], prodInto: prodInto[T], maxInto: maxInto[T], minInto: minInto[T],
		dotInto: dotInto[T], expInto: elementaryOf[T]().expInto,
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
		t.tiles, t.side = tiles32(), 8
	case *table[float64]:
		t.tiles, t.side = tiles64(), 4
	}
	for f, g := range elementaryFunctions[T]() {
		t.unary[f] = checkedUnary(func(z, x []T) {
			for i, v := range x {
				z[i] = g(v)
			}
		})
	}
	t.setBinary(Pow, powOf[T]())
	t.setStrips()
	if t, ok := any(t).(*table[float32]); ok {
		setElementary32(t)
	}
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

// elementaryFunctions are the functions of one element that take more than an operation or two.
func elementaryFunctions[T Float]() map[Unary]func(T) T {
	e := elementaryOf[T]()
	return map[Unary]func(T) T{
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
	}
}

// root returns the square root, rounded once: of a float32, the root in float64 rounds to the same.
func root[T Float](x T) T { return T(math.Sqrt(float64(x))) }
