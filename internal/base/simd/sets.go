package simd

import "os"

// set is a set of instructions, and what makes its functions those in use.
type set struct {
	name      string
	available bool
	use       func()
	bytes     int // of a register
}

// sets are the sets of instructions of this architecture, the fastest last.
var sets = append([]set{{"go", true, func() {
	t, wide := portable[float32](), portable[float64]()
	t.pack, wide.pack = packRows[float32], packRows[float64]
	t.dots, wide.dots = dots32(), dots64()
	t.few, wide.few = few32(), few64()
	use(t, wide, conversionTable{widen, narrow, rests, draw, units, normals, func([]byte) {}, nil, func() {}, below[int32], below[int64]})
}, 0}}, ofProcessor()...)

// variable is the environment variable that names the set of instructions to use: go, avx2, avx512 or neon. A
// value that names none which the processor has is ignored, since results are the same with all sets.
const variable = "OPGEN_SIMD"

// chosen is the set in use, outside of tests.
var chosen = best(os.Getenv(variable))

func init() { chosen.use() }

// Vector returns how many bytes a register of the instructions in use has, or 0 if those are Go's.
func Vector() int { return chosen.bytes }

// Set returns the name of the set of instructions in use.
func Set() string { return chosen.name }

// best returns the set with a name, or the fastest that is available.
func best(name string) set {
	var b set
	for _, s := range sets {
		if s.available && (b.name != name || name == "") {
			b = s
		}
	}
	return b
}
