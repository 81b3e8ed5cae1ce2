package oracle

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/rng"
)

// power returns x ^ y.
func power(x, y number) number {
	v := math.Pow(x.v, y.v)
	out := number{v: v, err: 4 * math.Abs(v)}
	slope := 0.0
	if y.v != 0 {
		slope = y.v * math.Pow(x.v, y.v-1)
	}
	if y.err == 0 && y.v == 1 {
		return x
	}
	curved := y.v * (y.v - 1) * math.Pow(x.v, y.v-2)
	log := 0.0
	if !(x.v == 0 && y.v >= 0) {
		log = v * logarithm(x.v)
	}
	ln := logarithm(math.Abs(x.v))
	if v == 0 && (math.IsInf(x.v, 1) || math.IsInf(y.v, 0)) { // the limits: powers vanish faster than logarithms grow
		slope, log, ln, curved = 0, 0, 0, 0
	}
	out.err += scaled(slope, x.err) + scaled(log, y.err)
	if exactPower(x, y, v) {
		out.err = 0
	}
	out.varies, out.lanes = x.varies || y.varies, x.lanes|y.lanes
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		a, b := x.by(i, slope), y.by(i, log)
		out.d[i] = a + b
		out.de[i] = scaled(slope, x.de[i]) + scaled(x.by(i, curved), x.err) + scaled(over(a, y.v), y.err) + scaled(a*ln, y.err) +
			scaled(log, y.de[i]) + scaled(y.by(i, slope*ln), x.err) + scaled(over(y.by(i, v), x.v), x.err) + 6*(math.Abs(a)+math.Abs(b))
		if exactPower(x, y, v) && short(out.d[i]) && x.de[i] == 0 && y.d[i] == 0 && short(slope) {
			out.de[i] = 0
		}
	}
	return out
}

// exactPower reports whether a small power of an exact number is exact.
func exactPower(x, y number, v float64) bool {
	if x.err != 0 || y.err != 0 || y.v != math.Trunc(y.v) || y.v < 0 || y.v > 4 {
		return false
	}
	p := 1.0
	for range int(y.v) {
		q := p * x.v
		if !exactProduct(p, x.v, q) {
			return false
		}
		p = q
	}
	return p == v
}

// hypot returns the length of a vector (x, y). Its derivative is a unit vector, and 0 for the vector without
// a length.
func (e *evaluation) hypot(x, y number) number {
	m := math.Max(math.Abs(x.v), math.Abs(y.v))
	v := math.Hypot(x.v, y.v)
	var a, b float64 // the unit vector
	if v != 0 {
		a, b = direction(x.v, y.v), direction(y.v, x.v)
	}
	out := number{v: v, err: scaled(a, x.err) + scaled(b, y.err) + 2*math.Abs(v), varies: x.varies || y.varies, lanes: x.lanes | y.lanes}
	if x.v == 0 && y.err == 0 && x.err == 0 || y.v == 0 && x.err == 0 && y.err == 0 {
		out.err = 0
	}
	unsure := x.err+y.err > 0 && near(number{v: m, err: x.err + y.err}, number{}, e.unit) // it may have any direction
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		p, q := x.by(i, a), y.by(i, b)
		turn := math.Abs(x.by(i, b)) + math.Abs(y.by(i, a)) // the derivative of the direction, times the length
		out.d[i] = p + q
		out.de[i] = scaled(a, x.de[i]) + scaled(b, y.de[i]) + over(scaled(turn, x.err+y.err), v) + 4*(math.Abs(p)+math.Abs(q))
		if unsure {
			out.de[i] += (math.Abs(x.d[i]) + math.Abs(y.d[i])) / e.unit
		}
	}
	return out
}

// direction returns the first part of the unit vector of (x, y). Far from the origin, all numbers are near 0
// beside an infinite one, and infinite ones are alike.
func direction(x, y float64) float64 {
	switch {
	case !math.IsInf(x, 0):
		return x / math.Hypot(x, y)
	case math.IsInf(y, 0):
		return math.Copysign(math.Sqrt2/2, x)
	}
	return math.Copysign(1, x)
}

// angle returns the angle of a vector (x, y). Its derivative is that of the arc, and 0 for the vector without
// a direction.
func (e *evaluation) angle(y, x number) number {
	length := e.hypot(x, y)
	v := math.Atan2(y.v, x.v)
	var a, b, bend float64 // the partial derivatives, and the size of the second ones
	if r := length.v; r != 0 && !math.IsInf(r, 0) {
		a, b, bend = x.v/r/r, -y.v/r/r, 1/r/r
	}
	out := number{v: v, err: scaled(a, y.err) + scaled(b, x.err) + 2*math.Abs(v), varies: x.varies || y.varies, lanes: x.lanes | y.lanes}
	cut := y.v == 0 && y.err > 0 && x.v < 0 // it may be pi or -pi
	if cut || x.err+y.err > 0 && near(number{v: length.v, err: x.err + y.err}, number{}, e.unit) {
		out.err += 4 / e.unit
	}
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		p, q := y.by(i, a), x.by(i, b)
		out.d[i] = p + q
		out.de[i] = scaled(a, y.de[i]) + scaled(b, x.de[i]) + scaled(bend*(math.Abs(x.d[i])+math.Abs(y.d[i])), x.err+y.err) + 6*(math.Abs(p)+math.Abs(q))
	}
	return out
}

// remainder returns x - y * n, where n is x / y rounded towards 0. It jumps where n does.
func (e *evaluation) remainder(x, y number) number {
	v := restOf(x.v, y.v)
	n := math.RoundToEven((x.v - v) / y.v)
	if math.IsInf(y.v, 0) {
		n *= 0
	}
	out := number{v: v, err: x.err + scaled(n, y.err), varies: x.varies || y.varies, lanes: x.lanes | y.lanes}
	length, far, unsure := math.Abs(y.v), safety*e.unit*out.err, 0.0
	if out.err > 0 {
		switch {
		case !(far < length): // also where x or y is not known
			out.err, unsure = math.Inf(1), math.Inf(1)
		case n != 0 && math.Abs(v) <= far || length-math.Abs(v) <= far:
			out.err += length / e.unit
			unsure = 1 / e.unit
		}
	}
	for i := range passLanes {
		if !out.on(i) {
			continue
		}
		p, q := x.by(i, 1), y.by(i, -n)
		out.d[i] = p + q
		out.de[i] = x.de[i] + scaled(n, y.de[i]) + scaled(y.d[i], unsure)
		if y.d[i] != 0 {
			out.de[i] += math.Abs(p) + math.Abs(q)
		}
		if math.Abs(n) >= 1<<20 { // it is rounded
			out.de[i] += 4 * math.Abs(q)
		}
	}
	return out
}

// restOf returns the remainder of x / y with the sign of x. It is that of an integer times a power of 2, one
// bit of the power after another.
func restOf(x, y float64) float64 {
	switch {
	case x-x != 0 || y != y || y == 0:
		return math.NaN()
	case math.Abs(x) < math.Abs(y):
		return x
	}
	digits := func(v float64) (uint64, int) {
		f, exp := math.Frexp(math.Abs(v))
		return uint64(math.Ldexp(f, 53)), exp - 53
	}
	a, high := digits(x)
	b, low := digits(y)
	if x == 0 {
		return x
	}
	a %= b
	for ; high > low; high-- {
		a = 2 * a % b
	}
	return math.Copysign(math.Ldexp(float64(a), low), x)
}

// curves holds the functions of one number.
var curves = map[string]func(x float64) curve{
	"exp": func(x float64) curve { v := math.Exp(x); return curve{v, v, v, 0, 0} },
	"log": func(x float64) curve { return curve{logarithm(x), 1 / x, -1 / (x * x), 0, 0} },
	"sqrt": func(x float64) curve {
		v := math.Sqrt(x)
		return curve{v, 0.5 / v, -0.25 / (v * v * v), 0, 0}
	},
	"rsqrt": func(x float64) curve {
		v := 1 / math.Sqrt(x)
		return curve{v, -0.5 * v * v * v, 0.75 * v * v * v * v * v, 0, 0}
	},
	"sin": func(x float64) curve { return curve{math.Sin(x), math.Cos(x), -math.Sin(x), 1, 0} },
	"cos": func(x float64) curve { return curve{math.Cos(x), -math.Sin(x), -math.Cos(x), 1, 0} },
	"tanh": func(x float64) curve {
		v := math.Tanh(x)
		return curve{v, 1 / (math.Cosh(x) * math.Cosh(x)), -2 * v * (1 - v*v), 1, 0}
	},
	"sigmoid": func(x float64) curve {
		v := 1 / (1 + math.Exp(-x))
		return curve{v, v * (1 / (1 + math.Exp(x))), v * (1 - v) * (1 - 2*v), v, 0}
	},
	"Phi": func(x float64) curve {
		d := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		return bell(0.5*math.Erfc(-x/math.Sqrt2), d, x, 1)
	},
	"erfc": func(x float64) curve {
		d := -2 / math.Sqrt(math.Pi) * math.Exp(-x*x)
		return bell(math.Erfc(x), d, x, 2)
	},
	"erf": func(x float64) curve {
		d := 2 / math.Sqrt(math.Pi) * math.Exp(-x*x)
		return bell(erf(x), d, x, 2)
	},
	"tan": func(x float64) curve {
		v, c := math.Sin(x)/math.Cos(x), math.Cos(x)
		return curve{v, 1 / (c * c), 2 * v / (c * c), v * v, 0}
	},
	"asin": func(x float64) curve {
		d := 1 / math.Sqrt((1-x)*(1+x))
		return curve{math.Atan2(x, math.Sqrt((1-x)*(1+x))), d, x * d * d * d, 0, 0}
	},
	"acos": func(x float64) curve {
		d := 1 / math.Sqrt((1-x)*(1+x))
		return curve{2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)), -d, -x * d * d * d, 0, 0}
	},
	"atan": func(x float64) curve {
		h := math.Hypot(1, x)
		if math.IsInf(x, 0) {
			return curve{math.Atan2(x, 1), 0, 0, 0, 0}
		}
		return curve{math.Atan2(x, 1), 1 / h / h, -2 * (x / h) / h / h / h, 0, 0}
	},
	"sinh": func(x float64) curve {
		v := 0.5 * (math.Expm1(x) - math.Expm1(-x))
		if math.Abs(x) > 700 {
			v = math.Copysign(farCosh(x), x)
		}
		return curve{v, cosh(x), v, 0, 0}
	},
	"cosh": func(x float64) curve {
		v, d := cosh(x), math.Sinh(x)
		if math.Abs(x) > 700 {
			d = math.Copysign(v, x)
		}
		return curve{v, d, v, 0, 0}
	},
	"asinh": func(x float64) curve {
		h := math.Hypot(1, x)
		d, v := 1/h, math.Log1p(math.Abs(x)+math.Abs(x)*(math.Abs(x)/(1+h)))
		if math.Abs(x) > 1e150 { // whose quotient by h may be that of infinities
			return curve{math.Copysign(math.Log(math.Abs(x))+math.Ln2, x), d, 0, 0, 0}
		}
		return curve{math.Copysign(v, x), d, -x * d * d * d, 0, 0}
	},
	"atanh": func(x float64) curve {
		d := 1 / ((1 - x) * (1 + x))
		return curve{0.5 * (math.Log1p(x) - math.Log1p(-x)), d, 2 * x * d * d, 0, 0}
	},
	"softplus": func(x float64) curve {
		s := 1 / (1 + math.Exp(-x))
		v := math.Log1p(math.Exp(x))
		if x > 30 {
			v = x + math.Exp(-x)
		}
		return curve{v, s, s * (1 / (1 + math.Exp(x))), v, 0}
	},
	"lgamma": func(x float64) curve {
		g := gammaAt(x)
		return curve{g.log, g.first, g.second, 0, gammaLost}
	},
	"digamma": func(x float64) curve {
		const h = 1e-4
		g := gammaAt(x)
		return curve{g.first, g.second, (gammaAt(x+h).second - gammaAt(x-h).second) / (2 * h), 0, gammaLost}
	},
	"erfinv": func(x float64) curve {
		v := math.Erfinv(x)
		d := math.Sqrt(math.Pi) / 2 * math.Exp(v*v)
		return curve{v, d, 2 * v * d * d, d * v * v, 0}
	},
	"expm1": func(x float64) curve { return curve{math.Expm1(x), math.Exp(x), math.Exp(x), 1, 0} },
	"log1p": func(x float64) curve { return curve{math.Log1p(x), 1 / (1 + x), -1 / ((1 + x) * (1 + x)), 0, 0} },
}

// bell returns what a function does whose slope d at x is a bell: the derivative of the slope is -by * x * d.
// At infinities all slopes are 0.
func bell(v, d, x, by float64) curve {
	if math.IsInf(x, 0) {
		return curve{v: v}
	}
	return curve{v, d, -by * x * d, d * x * x, 0}
}

// cosh returns the hyperbolic cosine.
func cosh(x float64) float64 {
	if math.Abs(x) > 700 {
		return farCosh(x)
	}
	return 0.5 * (math.Exp(x) + math.Exp(-x))
}

// logarithm returns the natural logarithm. On amd64, that of package math is wrong for denormal numbers.
func logarithm(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p52) - 52*math.Ln2
	}
	return math.Log(x)
}

// farCosh returns the hyperbolic cosine where e^-|x| does not count: e^|x| may overflow, and its half may
// not.
func farCosh(x float64) float64 {
	root := math.Exp(math.Abs(x) / 2)
	return 0.5 * root * root
}

// erf returns the error function: by its series near 0, where a difference from 1 has no digits.
func erf(x float64) float64 {
	if math.Abs(x) > 0.5 {
		return 1 - math.Erfc(x)
	}
	total, part := 0.0, x
	for n := 0; n < 24; n++ {
		total += part / float64(2*n+1)
		part *= -x * x / float64(n+1)
	}
	return 2 / math.Sqrt(math.Pi) * total
}

// steps holds the functions that are constant between their jumps, which are at integers, or at halves.
var steps = map[string]struct {
	f    func(float64) float64
	jump float64
}{
	"ceil": {math.Ceil, 0}, "floor": {math.Floor, 0}, "round": {math.RoundToEven, 0.5},
}

// truncated returns a real number without its fraction, as an integer of a type.
func truncated(x number, t dtype.Type) value {
	n := math.Trunc(x.v)
	if x.err > 0 && math.Abs(x.v-math.RoundToEven(x.v)) <= safety*0x1p-24*x.err && math.RoundToEven(x.v) != 0 {
		panic(ErrAmbiguous)
	}
	low, high, _ := boundsOf(t)
	out := value{kind: integer, unsigned: t == dtype.U64}
	least, most := float64(low), float64(high)
	if out.unsigned {
		most = 1 << 64
	}
	switch { // beyond the bounds of the type it is the bound, and 0 for NaN
	case n != n:
	case n >= most:
		out.i = high
	case n <= least:
		out.i = low
	case out.unsigned:
		out.i = int64(uint64(n))
	default:
		out.i = int64(n)
	}
	return out
}

// builtin returns what a function gives that every formula has.
func (e *evaluation) builtin(n *expr.Call, args []value, s *scope) value {
	want := func(count int) {
		if len(args) != count {
			fail("%s has %d parameters, and got %d arguments", n.Func, count, len(args))
		}
	}
	if v, ok := e.ofLists(n.Func, args); ok {
		return v
	}
	if v, ok := e.ofTextbooks(n, s); ok {
		return v
	}
	if f, ok := curves[n.Func]; ok {
		want(1)
		x := args[0].number()
		return e.rounded(apply(x, f(x.v), e.unit))
	}
	if f, ok := steps[n.Func]; ok {
		want(1)
		x := args[0].number()
		out := number{v: f.f(x.v)}
		if at := x.v - f.jump; x.err > 0 && math.Abs(at-math.RoundToEven(at)) <= safety*e.unit*x.err {
			out.err = 1 / e.unit
		}
		return realValue(out)
	}
	switch n.Func {
	case "convert":
		want(2)
		t, err := dtype.Parse(args[1].name())
		if err != nil {
			fail("%v", err)
		}
		return convert(args[0], t)
	case "ceildiv":
		want(2)
		q, r := wholes("/", args[0], args[1]), wholes("%", args[0], args[1])
		if r.i != 0 {
			return wholes("+", q, whole(1))
		}
		return q
	case "quotient":
		want(2)
		if args[0].kind != integer || args[1].kind != integer {
			fail("quotient: want integers")
		}
		return wholes("quotient", args[0], args[1])
	case "abs", "sign":
		want(1)
		return e.magnitude(n.Func, args[0])
	case "isnan":
		want(1)
		v := args[0].number()
		return condition(v.v != v.v)
	case "pow":
		want(2)
		if args[0].kind == integer && args[1].kind == integer {
			return wholes("^", args[0], args[1])
		}
		return e.rounded(power(args[0].number(), args[1].number()))
	case "hypot":
		want(2)
		return e.rounded(e.hypot(args[0].number(), args[1].number()))
	case "fmod":
		want(2)
		return e.rounded(e.remainder(args[0].number(), args[1].number()))
	case "atan2":
		want(2)
		return e.rounded(e.angle(args[0].number(), args[1].number()))
	case "max", "min":
		out := args[0]
		for i, y := range args[1:] {
			out = e.extreme(n.Func, out, y, e.differs(n.Args[:i+1], s), e.differs(n.Args[i+1:i+2], s))
		}
		return out
	case "uniform", "normal":
		want(3)
		src := rng.New(uint64(args[0].integer()), uint64(args[1].integer()))
		at := uint64(args[2].integer())
		if n.Func == "uniform" {
			v := src.Uniform(at)
			return realValue(number{v: v, err: 1 + math.Abs(v)})
		}
		// Box-Muller: the angle is up to 2 * pi. Its rounding error of 4 units counts radius times.
		v, radius := src.Normal(at), math.Sqrt(-2*math.Log(1-src.Uniform(at)))
		return realValue(number{v: v, err: 1 + math.Abs(v) + 4*radius})
	}
	fail("there is no function %s", n.Func)
	return value{}
}

// ofTextbooks returns the logarithms that mean more than they are: log(1 + exp(x)), log(sigmoid(x)), log(1 -
// sigmoid(x)) and log(exp(x)) have the digits of what they stand for, also where the argument overflows.
func (e *evaluation) ofTextbooks(n *expr.Call, s *scope) (value, bool) {
	if n.Func != "log" && n.Func != "log1p" {
		return value{}, false
	}
	of := func(name string, n expr.Node, s *scope) (x number, ok bool) { // the x of name(x)
		n, s = behind(n, s)
		c, is := n.(*expr.Call)
		if !is || c.Func != name || len(c.Args) != 1 || e.called(name) != nil {
			return x, false
		}
		v := e.value(c.Args[0], s, false)
		return v.number(), v.kind == real
	}
	softplus := func(x number, sign float64) value {
		y := apply(x, curves["softplus"](x.v), e.unit)
		if sign < 0 {
			y = neg(y)
		}
		return e.rounded(y)
	}
	arg, at := behind(n.Args[0], s)
	sum, _ := arg.(*expr.Binary)
	if n.Func == "log1p" {
		if x, ok := of("exp", arg, at); ok {
			return softplus(x, 1), true
		}
		return value{}, false
	}
	if x, ok := of("exp", arg, at); ok {
		return realValue(x), true
	}
	if x, ok := of("sigmoid", arg, at); ok {
		return softplus(neg(x), -1), true
	}
	if sum == nil || sum.Op != "+" && sum.Op != "-" {
		return value{}, false
	}
	one, rest := sum.X, sum.Y
	if l, ok := rest.(*expr.Lit); ok && sum.Op == "+" && l.Value == any(int64(1)) {
		one, rest = rest, one
	}
	if l, ok := one.(*expr.Lit); !ok || l.Value != any(int64(1)) {
		return value{}, false
	}
	if x, ok := of("exp", rest, at); ok && sum.Op == "+" {
		return softplus(x, 1), true
	}
	if x, ok := of("sigmoid", rest, at); ok && sum.Op == "-" {
		return softplus(x, -1), true
	}
	return value{}, false
}

// behind returns what a parameter of a function stands for, and where.
func behind(n expr.Node, s *scope) (expr.Node, *scope) {
	for {
		id, ok := n.(*expr.Ident)
		if !ok || s.params[id.Name] == nil {
			return n, s
		}
		n, s = s.params[id.Name].node, s.params[id.Name].scope
	}
}

// name returns a text.
func (v value) name() string {
	if v.kind != text {
		fail("want a name, got %v", v.kind)
	}
	return v.x.text
}

func (e *evaluation) magnitude(name string, v value) value {
	if v.kind == integer {
		s := int64(compareWhole(v, whole(0)))
		if name == "sign" {
			return realValue(exactly(float64(s)))
		}
		v = v.settled()
		if s < 0 {
			v.i = -v.i
		}
		return v
	}
	x := v.number()
	s := 0.0
	switch {
	case x.v > 0:
		s = 1
	case x.v < 0:
		s = -1
	}
	if name == "sign" {
		out := exactly(s)
		if near(x, number{}, e.unit) {
			out.err = 1 / e.unit
		}
		return realValue(out)
	}
	out := x
	out.v = math.Abs(x.v)
	for i := range out.d {
		out.d[i] *= s
		if x.v == 0 || near(x, number{}, e.unit) { // at the kink, any slope between
			out.de[i] += 2 * math.Abs(x.d[i]) / e.unit
		}
	}
	return realValue(out)
}

// extreme returns the greater or the less of two numbers. Equal ones share the gradient evenly: those of
// extremes of extremes, too. If one of them has no gradient, none gets any.
func (e *evaluation) extreme(name string, x, y value, xDiffers, yDiffers differing) value {
	if x.kind == list || y.kind == list || !numeric(x) || !numeric(y) {
		fail("%s: want numbers, got %v and %v", name, x.kind, y.kind)
	}
	if x.kind != real && y.kind != real {
		if x.unsure || y.unsure {
			panic(ErrAmbiguous)
		}
		if (compareWhole(x, y) >= 0) == (name == "max") {
			return x
		}
		return y
	}
	a, b := x.number(), y.number()
	if a.v != a.v || b.v != b.v {
		out := number{v: math.NaN(), varies: a.varies || b.varies, lanes: a.lanes | b.lanes}
		for i := range out.d {
			if out.on(i) {
				out.d[i] = math.NaN()
			}
		}
		return realValue(out)
	}
	m, n := x.of(name, xDiffers), y.of(name, yDiffers)
	if name == "min" {
		a, b = neg(a), neg(b)
	}
	if a.v < b.v {
		a, b, m, n = b, a, n, m
	}
	out, among := a, m
	widen := func() {
		out.varies, out.lanes = a.varies || b.varies, a.lanes|b.lanes
		for i := range out.de {
			out.de[i] = max(out.de[i], b.de[i]) + (math.Abs(a.d[i])+math.Abs(b.d[i]))/e.unit
		}
	}
	switch {
	case near(a, b, e.unit):
		out = hull(a, b, e.unit)
		if !m.settled || !n.settled || (m.among == 0) != (n.among == 0) { // there the gradient may be that of neither
			widen()
		}
		among.settled = false
	case a.v == b.v && (!m.settled || !n.settled):
		widen()
		among.settled = false
	case a.v == b.v && m.among > 0 && n.among > 0:
		among.among = int8(min(int(m.among)+int(n.among), math.MaxInt8))
		out.varies, out.lanes = a.varies || b.varies, a.lanes|b.lanes
		v, w := float64(m.among), float64(n.among)
		for i := range out.d {
			out.d[i] = (v*a.d[i] + w*b.d[i]) / (v + w)
			out.de[i] = (v*a.de[i] + w*b.de[i]) / (v + w)
			if v+w > 2 { // it is rounded
				out.de[i] += 2 * math.Abs(out.d[i])
			}
		}
	case a.v == b.v:
		out, among.among = still(a), 0
	}
	for i, slope := range b.d { // a share of 0 is NaN where it is multiplied by an infinite slope
		if b.on(i) && (math.IsInf(slope, 0) || slope != slope) {
			out.varies, out.lanes = true, out.lanes|b.lanes
			out.de[i] = math.Inf(1)
		}
	}
	if name == "min" {
		out = neg(out)
	}
	return value{kind: real, r: out, share: among}
}

// ofLists applies a function of lists. ok is false if the function is none.
func (e *evaluation) ofLists(name string, args []value) (v value, ok bool) {
	two := func() ([]item, []item) {
		if len(args) != 2 {
			fail("%s: want two lists", name)
		}
		return args[0].items(), args[1].items()
	}
	switch name {
	case "len":
		return whole(int64(len(args[0].items()))), true
	case "sum", "prod":
		out := whole(0)
		if name == "prod" {
			out = whole(1)
		}
		for _, it := range args[0].items() {
			out = wholes(map[string]string{"sum": "+", "prod": "*"}[name], out, it.value)
		}
		return out, true
	case "min", "max":
		if len(args) != 1 || args[0].kind != list {
			return value{}, false
		}
		items := args[0].items()
		if len(items) == 0 {
			fail("%s: an empty list has no extreme", name)
		}
		out := items[0].value
		for _, it := range items[1:] {
			out = e.extreme(name, out, it.value, never, never)
		}
		return out, true
	case "broadcast":
		x, y := two()
		if len(x) < len(y) {
			x, y = y, x
		}
		out := slices.Clone(x)
		for i, n := range y {
			if at := len(x) - len(y) + i; out[at].i == 1 {
				out[at] = n
			}
		}
		return listOf(out, false), true
	case "fit":
		x, y := two()
		if len(y) > len(x) {
			fail("fit: want at least %d indices, got %d", len(y), len(x))
		}
		out := slices.Clone(x[len(x)-len(y):])
		for i, n := range y {
			if n.i == 1 {
				out[i] = item{value: whole(0), pos: -1}
			}
		}
		return listOf(out, true), true
	case "keep", "drop", "ones", "insert", "permute":
		x, axes := two()
		return listOf(choose(name, x, axes, args[0].x.index), args[0].x.index), true
	}
	return value{}, false
}

// choose returns the items of a list that axes choose.
func choose(name string, items, axes []item, index bool) []item {
	rank := len(items)
	if name == "insert" {
		rank += len(axes)
	}
	at := make([]int, len(axes))
	for i, a := range axes {
		if at[i] = int(a.integer()); at[i] < 0 {
			at[i] += rank
		}
		if at[i] < 0 || at[i] >= rank {
			fail("%s: want axes below %d, got %d", name, rank, a.integer())
		}
	}
	one := item{value: whole(1), pos: -1}
	if index {
		one = item{value: whole(0), pos: -1}
	}
	out := []item{}
	if name == "permute" {
		for _, a := range at {
			out = append(out, items[a])
		}
		return out
	}
	next := 0
	for d := range rank {
		in := slices.Contains(at, d)
		if name == "insert" {
			if in {
				out = append(out, one)
			} else {
				out = append(out, items[next])
				next++
			}
			continue
		}
		switch {
		case name == "ones" && in:
			out = append(out, one)
		case name == "keep" && !in, name == "drop" && in:
		default:
			out = append(out, items[d])
		}
	}
	return out
}
