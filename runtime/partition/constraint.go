package partition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/op"
)

// The codes of what can be wrong with a signature, an added constraint or a launch.
const (
	BadCount               op.Code = "bad-count"
	BadRange               op.Code = "bad-range"
	BadOperand             op.Code = "bad-operand"
	EmptyAxes              op.Code = "empty-axes"
	BadValue               op.Code = "bad-value"
	IndexOutOfRange        op.Code = "index-out-of-range"
	ConstraintsUnsupported op.Code = "constraints-unsupported"
	ConstraintsLocked      op.Code = "constraints-locked"
	EmptyMachine           op.Code = "empty-machine"
	UnboundArgument        op.Code = "unbound-argument"
	CountMismatch          op.Code = "count-mismatch"
	EmptyDomain            op.Code = "empty-domain"
	MissingArgument        op.Code = "missing-argument"
	AliasedOperands        op.Code = "aliased-operands"
	AlignUnbound           op.Code = "align-unbound"
	AlignShape             op.Code = "align-shape"
	AxisOutOfRange         op.Code = "axis-out-of-range"
	RankMismatch           op.Code = "rank-mismatch"
	LengthMismatch         op.Code = "length-mismatch"
	ImageType              op.Code = "image-type"
	DependentUnbound       op.Code = "dependent-unbound"
	DependentConflict      op.Code = "dependent-conflict"
	UnsupportedSource      op.Code = "unsupported-source"
	DependentCycle         op.Code = "dependent-cycle"
	OverlappingWrite       op.Code = "overlapping-write"
)

// All is the index of a term that stands for all arguments of a group or slot.
const All = -1 << 31

// Term is an operand of a constraint: a whole group or slot, or one of its arguments.
type Term struct {
	Name  string // of a group ("inputs") or of a slot
	Index int    // All, or the number of an argument
}

// Whole is the term of all arguments of a group or slot.
func Whole(name string) Term { return Term{name, All} }

// At is the term of argument i of a group or slot.
func At(name string, i int) Term { return Term{name, i} }

// ParseTerm reads what String writes. A text that has not that form becomes the name of a term.
func ParseTerm(s string) Term {
	name, rest, ok := strings.Cut(s, "[")
	if digits, closed := strings.CutSuffix(rest, "]"); ok && closed {
		if i, err := strconv.Atoi(digits); err == nil && i != All {
			return Term{name, i}
		}
	}
	return Term{s, All}
}

// String formats the term as "inputs" or "inputs[0]".
func (t Term) String() string {
	if t.Index == All {
		return t.Name
	}
	return fmt.Sprintf("%s[%d]", t.Name, t.Index)
}

// ConstraintKind is the kind of a constraint on how a launch divides its stores into tiles.
type ConstraintKind uint8

const (
	// Align: tiles cover the same index rectangles.
	Align ConstraintKind = iota
	// Broadcast: the axes are not divided.
	Broadcast
	// MinExtents: no tile is smaller than the extents.
	MinExtents
	// Scale: the target's tiles are the source's, times factors.
	Scale
	// Bloat: the target's tiles are the source's, grown by low below and high above.
	Bloat
	// Image: the target's tiles hold what the source's elements point to.
	Image
)

var constraintNames = [...]string{"align", "broadcast", "min_extents", "scale", "bloat", "image"}

// String returns the name that specs use.
func (k ConstraintKind) String() string {
	if int(k) < len(constraintNames) {
		return constraintNames[k]
	}
	return fmt.Sprintf("ConstraintKind(%d)", uint8(k))
}

// ConstraintKinds lists the names of the kinds.
func ConstraintKinds() []string { return constraintNames[:] }

// ParseConstraintKind returns the kind of a name.
func ParseConstraintKind(name string) (ConstraintKind, bool) {
	i := slices.Index(constraintNames[:], name)
	return ConstraintKind(max(i, 0)), i >= 0
}

// Dependent reports whether the constraint derives the tiles of its second term, the target, from
// those of its first, the source.
func (k ConstraintKind) Dependent() bool { return k >= Scale }

// Hint says how exact an image must be.
type Hint uint8

const (
	NoHint    Hint = iota // the elements that are pointed to, exactly
	MinMax                // the box around all of them
	FirstLast             // the box around the first and the last of them
)

var hintNames = [...]string{"no_hint", "min_max", "first_last"}

// String returns the name that specs use.
func (h Hint) String() string { return hintNames[h] }

// Hints lists the names of the hints.
func Hints() []string { return hintNames[:] }

// ParseHint returns the hint of a name.
func ParseHint(name string) (Hint, bool) {
	i := slices.Index(hintNames[:], name)
	return Hint(max(i, 0)), i >= 0
}

// Constraint is a constraint on how a launch divides its stores into tiles.
type Constraint struct {
	Kind    ConstraintKind
	Terms   []Term // Align: one or more; dependent kinds: source and target; others: one
	Axes    []int  // of Broadcast; nil means all
	Extents []int  // of MinExtents, one for each axis; 0 demands nothing
	Factors []int  // of Scale
	Low     []int  // of Bloat
	High    []int  // of Bloat
	Hint    Hint   // of Image
}

// String formats the constraint as "scale(inputs[0], outputs[0], factors [2 3])".
func (c Constraint) String() string {
	var parts []string
	for _, t := range c.Terms {
		parts = append(parts, t.String())
	}
	for _, l := range []struct {
		name string
		list []int
	}{{"axes", c.Axes}, {"extents", c.Extents}, {"factors", c.Factors}, {"low", c.Low}, {"high", c.High}} {
		if l.list != nil {
			parts = append(parts, fmt.Sprintf("%s %v", l.name, l.list))
		}
	}
	if c.Hint != NoHint {
		parts = append(parts, c.Hint.String())
	}
	return c.Kind.String() + "(" + strings.Join(parts, ", ") + ")"
}

// Equal reports whether two constraints are the same. Aligning a group means aligning its first
// argument with the group.
func (c Constraint) Equal(d Constraint) bool {
	return c.Kind == d.Kind && c.Hint == d.Hint && (c.Axes == nil) == (d.Axes == nil) &&
		slices.Equal(c.alignTerms(), d.alignTerms()) && slices.Equal(c.Axes, d.Axes) && slices.Equal(c.Extents, d.Extents) &&
		slices.Equal(c.Factors, d.Factors) && slices.Equal(c.Low, d.Low) && slices.Equal(c.High, d.High)
}

// alignTerms returns the terms with a group that is aligned with itself written out.
func (c Constraint) alignTerms() []Term {
	if c.Kind == Align && len(c.Terms) == 1 && c.Terms[0].Index == All {
		return []Term{At(c.Terms[0].Name, 0), c.Terms[0]}
	}
	return c.Terms
}

// check reports a constraint that has not the right form. known tells which names a term may have.
func (c Constraint) check(task string, known func(name string) bool) error {
	fail := func(code op.Code, slot, want, got string) error {
		return &op.Error{Code: code, Task: task, Slot: slot, Want: want + " for " + c.Kind.String(), Got: got}
	}
	want := 1
	if c.Kind.Dependent() {
		want = 2
	}
	for _, t := range c.Terms {
		if !known(t.Name) {
			return fail(BadOperand, "", "a store argument, of inputs, outputs or redops,", t.String())
		}
	}
	if c.Kind == Align && len(c.Terms) == 0 || c.Kind != Align && len(c.Terms) != want {
		return fail(BadOperand, "", fmt.Sprintf("%d terms", want), c.String())
	}
	if c.Kind == Broadcast && c.Axes != nil && len(c.Axes) == 0 {
		return fail(EmptyAxes, c.Terms[0].String(), "at least one axis, or none given for all,", "an empty list")
	}
	values := func(what string, list []int, least int) error {
		for _, v := range list {
			if v < least {
				return fail(BadValue, c.Terms[0].String(), fmt.Sprintf("%s of %d or more", what, least), fmt.Sprint(v))
			}
		}
		return nil
	}
	for _, l := range []struct {
		what  string
		list  []int
		least int
	}{{"axes", c.Axes, 0}, {"extents", c.Extents, 0}, {"factors", c.Factors, 1}, {"offsets", c.Low, 0}, {"offsets", c.High, 0}} {
		if err := values(l.what, l.list, l.least); err != nil {
			return err
		}
	}
	return nil
}

// Grows reports whether a bloat makes tiles overlap: an offset is above 0.
func (c Constraint) Grows() bool {
	positive := func(v int) bool { return v > 0 }
	return c.Kind == Bloat && (slices.ContainsFunc(c.Low, positive) || slices.ContainsFunc(c.High, positive))
}
