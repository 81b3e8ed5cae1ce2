package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"

	"github.com/opgen/opgen/runtime/dtype"
)

// kind is what a value is.
type kind uint8

const (
	absent kind = iota
	integer
	real
	boolean
	text
	list
	record
)

func (k kind) String() string {
	return [...]string{"nothing", "an integer", "a real number", "a condition", "a name", "a list", "a record"}[k]
}

// value is what an expression stands for.
type value struct {
	kind     kind
	unsigned bool // of an integer: that it is one of 64 bits without sign
	edge     int8 // of an integer: that it is the least (-1) or the greatest (1) of whatever type it is stored in, as an extreme of nothing is
	made     bool // of an integer: that arithmetic made it of an extreme of nothing
	unsure   bool // of a condition: that rounding may turn it
	share    share
	i        int64
	r        number
	x        *extra
}

// share says between how many numbers a real number that is an extreme of some shares its gradient, if it is
// an extreme of further ones.
type share struct {
	most, least bool // whether it is a maximum or a minimum; of other values, neither
	settled     bool // whether the number is known, also where the extreme is an operand of another one
	among       int8 // how many; 0 if an equal one has no gradient, so that none gets any
}

// of returns what a value that is an operand of an extreme counts there.
func (v value) of(name string, d differing) share {
	if v.share.most && name == "max" || v.share.least && name == "min" {
		return v.share
	}
	out := share{most: name == "max", least: name == "min", settled: d != maybe}
	if d == surely {
		out.among = 1
	}
	return out
}

// open returns a value of which it is not said whether it is an operand of an extreme as what it was made of
// is.
func (v value) open() value {
	v.share.settled = false
	return v
}

// extra holds what few values have.
type extra struct {
	text   string
	items  []item
	index  bool // items are indices rather than extents
	fields map[string]value
}

// item is an element of a list, which may be an index.
type item struct {
	value
	name   string // of the index; "" if it is none
	pos    int    // in the run of that name; -1 if the name is no run's
	lo, hi int64
	bound  bool // whether something goes over the index
}

func whole(i int64) value { return value{kind: integer, i: i} }

func realValue(n number) value { return value{kind: real, r: n} }

func condition(c bool) value {
	if c {
		return value{kind: boolean, i: 1}
	}
	return value{kind: boolean}
}

func textValue(s string) value { return value{kind: text, x: &extra{text: s}} }

func listOf(items []item, index bool) value {
	return value{kind: list, x: &extra{items: items, index: index}}
}

// number returns a value as a real number.
func (v value) number() number {
	switch v.kind {
	case real:
		return v.r
	case integer:
		if v.unsure {
			panic(ErrAmbiguous)
		}
		if v = v.settled(); v.unsigned {
			return constant(float64(uint64(v.i)))
		}
		return constant(float64(v.i))
	case boolean:
		if v.unsure {
			panic(ErrAmbiguous)
		}
		return exactly(float64(v.i))
	}
	fail("want a number, got %v", v.kind)
	return number{}
}

// integer returns a value as an integer.
func (v value) integer() int64 {
	if v.kind != integer && v.kind != boolean {
		fail("want an integer, got %v", v.kind)
	}
	if v.unsure {
		panic(ErrAmbiguous)
	}
	return v.settled().i
}

// settled returns an integer that is no edge: the bound of 64 bits.
func (v value) settled() value {
	switch {
	case v.edge < 0 && !v.unsigned:
		v.i = math.MinInt64
	case v.edge > 0 && !v.unsigned:
		v.i = math.MaxInt64
	case v.edge > 0:
		v.i = -1
	}
	v.made, v.edge = v.made || v.edge != 0, 0
	return v
}

// truth returns whether a condition holds, which must be sure.
func (v value) truth() bool {
	if v.kind != boolean && v.kind != integer {
		fail("want a condition, got %v", v.kind)
	}
	if v.unsure {
		panic(ErrAmbiguous)
	}
	return v.i != 0
}

// items returns the elements of a list.
func (v value) items() []item {
	if v.kind != list {
		fail("want a list, got %v", v.kind)
	}
	return v.x.items
}

// failure is what fail throws; the functions that are exported return it as an error.
type failure struct{ message string }

func fail(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// decoded returns a value that encoding/json decoded.
func decoded(v any) value {
	switch v := v.(type) {
	case bool:
		return condition(v)
	case string:
		return textValue(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return whole(i)
		}
		f, _ := v.Float64()
		return realValue(constant(f))
	case []any:
		out := []item{}
		for _, x := range v {
			out = append(out, item{value: decoded(x), pos: -1})
		}
		return listOf(out, false)
	case map[string]any:
		fields := map[string]value{}
		for name, x := range v {
			fields[name] = decoded(x)
		}
		return value{kind: record, x: &extra{fields: fields}}
	}
	return value{}
}

// plain returns a value of Go: int, float64, bool, string or a list of them.
func plain(v any) value {
	switch v := v.(type) {
	case int:
		return whole(int64(v))
	case float64:
		return realValue(constant(v))
	case bool:
		return condition(v)
	case string:
		return textValue(v)
	case []int:
		return extents(v)
	case []any:
		out := []item{}
		for _, x := range v {
			out = append(out, item{value: plain(x), pos: -1})
		}
		return listOf(out, false)
	}
	return value{}
}

func extents(dims []int) value {
	out := []item{}
	for _, n := range dims {
		out = append(out, item{value: whole(int64(n)), pos: -1})
	}
	return listOf(out, false)
}

// kindOf returns what the elements of a type are.
func kindOf(t dtype.Type) kind {
	switch {
	case t.IsFloat():
		return real
	case t == dtype.Bool:
		return boolean
	}
	return integer
}

// wrapped returns an integer as an element of a type: of its last bits.
func wrapped(v value, t dtype.Type) value {
	low, high, unsigned := boundsOf(t)
	switch {
	case v.edge < 0:
		return value{kind: integer, i: low, unsigned: unsigned && t == dtype.U64}
	case v.edge > 0:
		return value{kind: integer, i: high, unsigned: unsigned && t == dtype.U64}
	}
	i := v.i
	open := v.made && t != dtype.I64 // what is simplified may be the extreme, which has the bound of the type
	switch t {
	case dtype.I8:
		i = int64(int8(i))
	case dtype.I16:
		i = int64(int16(i))
	case dtype.I32:
		i = int64(int32(i))
	case dtype.U8:
		i = int64(uint8(i))
	case dtype.U16:
		i = int64(uint16(i))
	case dtype.U32:
		i = int64(uint32(i))
	}
	return value{kind: integer, i: i, unsigned: t == dtype.U64, unsure: v.unsure || open}
}

// boundsOf returns the least and the greatest integer of a type, those of u64 by their bits.
func boundsOf(t dtype.Type) (low, high int64, unsigned bool) {
	size := 8 * t.Size()
	switch t {
	case dtype.U8, dtype.U16, dtype.U32, dtype.U64:
		return 0, int64(^uint64(0) >> (64 - size)), true
	}
	return -1 << (size - 1), 1<<(size-1) - 1, false
}

// compareWhole returns -1, 0 or 1: how two integers compare. An edge lies beyond all others.
func compareWhole(x, y value) int {
	if x.edge != 0 || y.edge != 0 {
		return int(sign(int64(x.edge) - int64(y.edge)))
	}
	large, other := x.unsigned && x.i < 0, y.unsigned && y.i < 0 // from 2^63 on
	switch {
	case large && !other:
		return 1
	case other && !large:
		return -1
	}
	switch {
	case x.i < y.i:
		return -1
	case x.i > y.i:
		return 1
	}
	return 0
}

func sign(i int64) int64 {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

// wholes computes with two integers. Division rounds down, and a remainder has the sign of the divisor.
func wholes(op string, x, y value) value {
	if x.unsure || y.unsure {
		panic(ErrAmbiguous)
	}
	x, y = x.settled(), y.settled()
	unsigned := x.unsigned && (y.unsigned || y.i >= 0) || y.unsigned && x.i >= 0
	a, b := x.i, y.i
	out := value{kind: integer, unsigned: unsigned, made: x.made || y.made}
	if x.unsigned || y.unsigned {
		// What a number from 2^63 on gives with others, beside quotients, and what is less than 0, is not
		// said.
		if (x.unsigned && a < 0 || y.unsigned && b < 0) && op != "/" && op != "%" && op != "quotient" {
			panic(ErrAmbiguous)
		}
		out.unsigned = unsigned && !(op == "-" && a < b)
	}
	switch op {
	case "+":
		out.i = a + b
	case "-":
		out.i = a - b
	case "*":
		out.i = a * b
	case "^":
		out.i = 1
		if b < 0 {
			fail("want an exponent of 0 or more, got %d", b)
		}
		for base, n := a, b; n > 0; n >>= 1 {
			if n&1 != 0 {
				out.i *= base
			}
			base *= base
		}
	case "/", "%":
		if b == 0 {
			fail("the divisor is 0")
		}
		switch {
		case unsigned:
			q, r := bits.Div64(0, uint64(a), uint64(b))
			out.i = int64(q)
			if op == "%" {
				out.i = int64(r)
			}
		case b == -1 && op == "/":
			out.i = -a
		case b == -1:
			out.i = 0
		case op == "/":
			out.i = a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				out.i--
			}
		default:
			out.i = a % b
			if out.i != 0 && (out.i < 0) != (b < 0) {
				out.i += b
			}
		}
	case "quotient":
		if b == 0 {
			fail("the divisor is 0")
		}
		switch {
		case unsigned:
			out.i = int64(uint64(a) / uint64(b))
		case b == -1:
			out.i = -a
		default:
			out.i = a / b
		}
	default:
		fail("unknown operation %s", op)
	}
	return out
}
