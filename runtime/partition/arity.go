package partition

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/runtime/op"
)

// Group is one of the four groups of a task's arguments. The permission of a slot determines its group: read
// is an input, write and read-write are outputs, reduce is a reduction. Arguments are scalars.
type Group uint8

const (
	Inputs Group = iota
	Outputs
	Redops
	Scalars
	numGroups
)

var groupNames = [numGroups]string{"inputs", "outputs", "redops", "scalars"}

// String returns the group's name: "inputs", "outputs", "redops" or "scalars".
func (g Group) String() string {
	if g < numGroups {
		return groupNames[g]
	}
	return fmt.Sprintf("Group(%d)", uint8(g))
}

// ParseGroup returns the group of a name.
func ParseGroup(name string) (Group, bool) {
	for g, n := range groupNames {
		if n == name {
			return Group(g), true
		}
	}
	return 0, false
}

// Arity is the allowed number of arguments of a slot or group. The zero Arity allows any number.
type Arity struct {
	form   arityForm
	lo, hi int
}

type arityForm uint8

const (
	unchecked arityForm = iota
	exact
	ranged
	atLeast
)

// Unlimited is the upper bound of an unbounded arity.
const Unlimited = math.MaxInt

// Exactly is the arity of n arguments; Exactly(Unlimited) allows any number.
func Exactly(n int) Arity {
	if n == Unlimited {
		return Arity{}
	}
	return Arity{exact, n, n}
}

// Between is the arity of lo to hi arguments, both included; hi may be Unlimited.
func Between(lo, hi int) Arity {
	if hi == Unlimited {
		return AtLeast(lo)
	}
	return Arity{ranged, lo, hi}
}

// AtLeast is the arity of lo arguments or more.
func AtLeast(lo int) Arity { return Arity{atLeast, lo, Unlimited} }

// isChecked reports whether the number of arguments is checked at all.
func (a Arity) isChecked() bool { return a.form != unchecked }

// isRanged reports whether the arity allows several numbers of arguments, with a lower bound.
func (a Arity) isRanged() bool { return a.form == ranged || a.form == atLeast }

// Allows reports whether n arguments are allowed.
func (a Arity) Allows(n int) bool { return a.form == unchecked || a.lo <= n && n <= a.hi }

// hasIndex reports whether an argument with index i may exist.
func (a Arity) hasIndex(i int) bool { return i >= 0 && (a.form == unchecked || i < a.hi) }

// String formats the arity as "2", "3 to 5", "at least 1" or "any number".
func (a Arity) String() string {
	switch a.form {
	case exact:
		return fmt.Sprint(a.lo)
	case ranged:
		return fmt.Sprintf("%d to %d", a.lo, a.hi)
	case atLeast:
		return fmt.Sprintf("at least %d", a.lo)
	}
	return "any number"
}

// check returns an error for inconsistent bounds.
func (a Arity) check(task, slot string) error {
	fail := func(code op.Code, want, got string) error {
		return &op.Error{Code: code, Task: task, Slot: slot, Want: want, Got: got}
	}
	switch {
	case a.lo < 0:
		return fail(BadCount, "counts of 0 or more", fmt.Sprint(a.lo))
	case a.hi < 0:
		return fail(BadCount, "counts of 0 or more", fmt.Sprint(a.hi))
	case a.form == ranged && a.hi <= a.lo:
		return fail(BadRange, "an upper bound above the lower one", bound(a.lo)+" to "+bound(a.hi))
	case a.form == atLeast && a.lo == Unlimited:
		return fail(BadRange, "a lower bound below unbounded", "unbounded to unbounded")
	}
	return nil
}

func bound(n int) string {
	if n == Unlimited {
		return "unbounded"
	}
	return fmt.Sprint(n)
}
