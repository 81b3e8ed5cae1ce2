// Package perm names what a task may do with a tensor.
//
// A permission is declared once, per task and slot, in the operator's spec. It decides the Go type
// of the view a kernel gets, the dependencies between tasks and which memory may be reused.
package perm

import "fmt"

// Perm is a permission. The zero value None means that a task does not touch the tensor.
type Perm uint8

const (
	None      Perm = iota
	Read           // only reads
	Write          // writes every element, reads none
	ReadWrite      // reads and writes
	Reduce         // folds values in with a reduction operator
	Scratch        // uses the memory, leaves nothing in it
)

var names = [...]string{None: "none", Read: "read", Write: "write", ReadWrite: "readwrite", Reduce: "reduce", Scratch: "scratch"}

// String returns the name that specs use.
func (p Perm) String() string {
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("perm.Perm(%d)", uint8(p))
}

// Names returns the permissions that a spec may give, as it spells them.
func Names() []string { return names[:] }

// Parse returns the permission of a name.
func Parse(name string) (Perm, error) {
	for i, n := range names {
		if n == name {
			return Perm(i), nil
		}
	}
	return None, fmt.Errorf("unknown permission %q", name)
}

// MarshalText writes the name that specs use.
func (p Perm) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what Parse accepts.
func (p *Perm) UnmarshalText(text []byte) error {
	q, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = q
	return nil
}

// Reads reports whether a task with permission p sees the values that were there before it.
func (p Perm) Reads() bool { return p == Read || p == ReadWrite }

// Writes reports whether a task with permission p changes what later tasks see.
func (p Perm) Writes() bool { return p == Write || p == ReadWrite || p == Reduce }

// Redop is the operator of a reduction.
type Redop uint8

const (
	NoRedop Redop = iota
	Sum
	Prod
	Min
	Max
	Or  // of integers bit by bit
	And // of integers bit by bit
	Xor // of integers bit by bit
)

var redops = [...]string{NoRedop: "", Sum: "sum", Prod: "prod", Min: "min", Max: "max", Or: "or", And: "and", Xor: "xor"}

// Redops returns the names of the reduction operators.
func Redops() []string { return redops[1:] }

// Bitwise reports whether the operator folds bits: those of integers, or single ones of bool. The others fold numbers.
func (r Redop) Bitwise() bool { return r >= Or }

// String returns the name that specs use, "" for NoRedop.
func (r Redop) String() string {
	if int(r) < len(redops) {
		return redops[r]
	}
	return fmt.Sprintf("perm.Redop(%d)", uint8(r))
}

// ParseRedop returns the reduction operator of a name.
func ParseRedop(name string) (Redop, error) {
	for i, n := range redops[1:] {
		if n == name {
			return Redop(i + 1), nil
		}
	}
	return NoRedop, fmt.Errorf("unknown reduction operator %q", name)
}

// MarshalText writes the name that specs use.
func (r Redop) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name, or nothing for NoRedop.
func (r *Redop) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = NoRedop
		return nil
	}
	q, err := ParseRedop(string(text))
	if err != nil {
		return err
	}
	*r = q
	return nil
}

// Conflict reports whether two accesses of overlapping elements must be ordered: at least one of them writes (or uses
// the memory as scratch). So reductions are ordered, too: a fold is no atomic operation, and sums of floating-point
// numbers depend on their order.
func Conflict(p, q Perm) bool { return p != None && q != None && (p != Read || q != Read) }
