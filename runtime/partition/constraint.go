package partition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/op"
)

// The error codes of signatures, added constraints and launches.
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

// All is the Index of a term that denotes all arguments of a group or slot.
const All = -1 << 31

// Term is an operand of a constraint: all arguments of a group or slot, or one of them.
type Term struct {
	Name  string // of a group ("inputs") or of a slot
	Index int    // All, or the number of an argument
}

// Whole returns the term for all arguments of a group or slot.
func Whole(name string) Term { return Term{name, All} }

// At returns the term for argument i of a group or slot.
func At(name string, i int) Term { return Term{name, i} }

// ParseTerm parses the format of String. Any other text is the name of a term.
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

// MarshalText writes what String returns.
func (t Term) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what String writes.
func (t *Term) UnmarshalText(text []byte) error {
	*t = ParseTerm(string(text))
	return nil
}

// Kind is the kind of a constraint. A new kind needs a constant here, a row in the table kinds (kind.go),
// and the functions of that row.
type Kind uint8

const (
	Align      Kind = iota // tiles cover the same index rectangles
	Broadcast              // the axes are not partitioned
	MinExtents             // no tile is smaller than the extents
	Scale                  // the target's tiles are the source's, times factors
	Bloat                  // the target's tiles are the source's, grown by low below and high above
	Image                  // the target's tiles contain what the source's elements point to
	numKinds
)

// Constraint restricts how a launch partitions its stores.
type Constraint struct {
	Kind  Kind   `json:"kind"`
	Terms []Term `json:"terms"` // as many as Form.Terms says
	// Axes are the axes that Broadcast does not partition, or to which the lists of other kinds refer. nil
	// means all axes. Negative axes count from the end.
	Axes []int `json:"axes,omitempty"`
	// Dims names further axes: dimensions in the shape of the first term's slot, runs of dimensions, or
	// attributes that are axes. Only constraints of operators have names; each instantiation of the operator
	// resolves them to numbers.
	Dims    []string `json:"dims,omitempty"`
	Extents []int    `json:"extents,omitempty"` // of MinExtents, one for each axis; 0 is no bound
	Factors []int    `json:"factors,omitempty"` // of Scale
	Low     []int    `json:"low,omitempty"`     // of Bloat
	High    []int    `json:"high,omitempty"`    // of Bloat
	Hint    Hint     `json:"hint,omitempty"`    // of Image
	// Exprs holds lists of expressions over attributes and dimensions, by the names of the lists above,
	// which they replace. Only constraints of operators have expressions; each instantiation of the operator
	// evaluates them.
	Exprs map[string][]string `json:"exprs,omitempty"`
}

// MarshalText writes the name that specs use.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name that specs use.
func (k *Kind) UnmarshalText(text []byte) error {
	kind, ok := ParseKind(string(text))
	if !ok {
		return fmt.Errorf("unknown kind of constraint %q", text)
	}
	*k = kind
	return nil
}

// Hint is the allowed approximation of an image.
type Hint uint8

const (
	NoHint    Hint = iota // exact: the points to which the source's elements point
	MinMax                // bounding box of all points
	FirstLast             // bounding box of the first and the last point
)

var hintNames = [...]string{"no_hint", "min_max", "first_last"}

// String returns the name that specs use.
func (h Hint) String() string { return hintNames[h] }

// MarshalText writes the name that specs use.
func (h Hint) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the name that specs use.
func (h *Hint) UnmarshalText(text []byte) error {
	hint, ok := ParseHint(string(text))
	if !ok {
		return fmt.Errorf("unknown hint %q", text)
	}
	*h = hint
	return nil
}

// Hints lists the names of the hints.
func Hints() []string { return hintNames[:] }

// ParseHint returns the hint of a name.
func ParseHint(name string) (Hint, bool) {
	i := slices.Index(hintNames[:], name)
	return Hint(max(i, 0)), i >= 0
}

// String formats the constraint as "scale(inputs[0], outputs[0], factors [2 3])".
func (c Constraint) String() string {
	var parts []string
	for _, t := range c.Terms {
		parts = append(parts, t.String())
	}
	if c.Dims != nil {
		parts = append(parts, fmt.Sprintf("axes %v", c.Dims))
	}
	for _, f := range c.Kind.Form().Fields {
		if list := *f.Of(&c); list != nil {
			parts = append(parts, fmt.Sprintf("%s %v", f.Name, list))
		} else if list := c.Exprs[f.Name]; list != nil {
			parts = append(parts, fmt.Sprintf("%s [%s]", f.Name, strings.Join(list, ", ")))
		}
	}
	if c.Hint != NoHint {
		parts = append(parts, c.Hint.String())
	}
	return c.Kind.String() + "(" + strings.Join(parts, ", ") + ")"
}

// Equal reports whether two constraints are equivalent. Aligning a group is equivalent to aligning its first
// argument with the group.
func (c Constraint) Equal(d Constraint) bool {
	if c.Kind != d.Kind || c.Hint != d.Hint || !slices.Equal(c.Dims, d.Dims) || !maps.EqualFunc(c.Exprs, d.Exprs, slices.Equal) || !slices.Equal(c.alignTerms(), d.alignTerms()) {
		return false
	}
	return !slices.ContainsFunc(c.Kind.Form().Fields, func(f Field) bool {
		a, b := *f.Of(&c), *f.Of(&d)
		return !slices.Equal(a, b) || !f.Required && (a == nil) != (b == nil)
	})
}

// alignTerms returns the terms, where an aligned group is replaced by its first argument and the group.
func (c Constraint) alignTerms() []Term {
	if c.Kind.Form().Terms == AnyTerms && len(c.Terms) == 1 && c.Terms[0].Index == All {
		return []Term{At(c.Terms[0].Name, 0), c.Terms[0]}
	}
	return c.Terms
}

// Check returns an error if the constraint does not have the form of its kind.
func (c Constraint) Check() error {
	return c.check("", func(string) bool { return true })
}

// check returns an error if terms or lists do not have the form of the constraint's kind. known reports
// whether a name of a term exists.
func (c Constraint) check(task string, known func(name string) bool) error {
	fail := func(code op.Code, slot, want, got string) error {
		return &op.Error{Code: code, Task: task, Slot: slot, Want: want + " for " + c.Kind.String(), Got: got}
	}
	for _, t := range c.Terms {
		if !known(t.Name) {
			return fail(BadOperand, "", "a store argument, of inputs, outputs or redops,", t.String())
		}
	}
	form := c.Kind.Form()
	if n := len(c.Terms); n == 0 || form.Terms != AnyTerms && n != int(form.Terms) {
		return fail(BadOperand, "", fmt.Sprintf("%d terms", max(form.Terms, 1)), c.String())
	}
	for _, f := range form.Fields {
		list := *f.Of(&c)
		if !f.Required && list != nil && len(list) == 0 && c.Dims == nil {
			return fail(EmptyAxes, c.Terms[0].String(), "a number in "+f.Name+", or no "+f.Name+" for all,", "an empty list")
		}
		for _, v := range list {
			if v < f.Least && f.Required {
				return fail(BadValue, c.Terms[0].String(), fmt.Sprintf("%s of %d or more", f.Name, f.Least), fmt.Sprint(v))
			}
		}
	}
	return nil
}
