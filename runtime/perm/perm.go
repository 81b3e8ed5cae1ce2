// Package perm names what a task may do with a tensor.
//
// A permission is declared once, per task and slot, in the operator's spec. It decides the Go type
// of the view a kernel gets, the dependencies between tasks and which memory may be reused.
package perm

import (
	"fmt"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
)

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

// Redop is the operator of a reduction: one of those below, or one of a module's own, such as
// "example.com/nn/folds.Farthest, 0": a function in Go, fold(x, y), and its identity, for which
// fold(identity, x) is x.
type Redop string

const (
	NoRedop Redop = ""
	Sum     Redop = "sum"
	Prod    Redop = "prod"
	Min     Redop = "min"
	Max     Redop = "max"
	Or      Redop = "or"  // of integers bit by bit
	And     Redop = "and" // of integers bit by bit
	Xor     Redop = "xor" // of integers bit by bit
)

var redops = []string{string(Sum), string(Prod), string(Min), string(Max), string(Or), string(And), string(Xor)}

// Redops returns the names of the reduction operators that every engine has.
func Redops() []string { return slices.Clone(redops) }

// Bitwise reports whether the operator combines bits: those of integers, or the single bit of a bool. Sums,
// products and extremes combine numbers.
func (r Redop) Bitwise() bool { return r == Or || r == And || r == Xor }

// String returns the text that specs use, "" for NoRedop.
func (r Redop) String() string { return string(r) }

// Own returns the parts of an operator of a module's own: the import path and the name of the function, and
// its identity. In an integer type, an infinity stands for the bound of the type; in bool, 0 stands for
// false. ok is false for other operators.
func (r Redop) Own() (pkg, function string, identity float64, ok bool) {
	call, number, two := strings.Cut(string(r), ", ")
	dot := strings.LastIndexByte(call, '.')
	if !two || dot <= 0 || strings.ContainsFunc(call, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`"\\,()`, c) }) ||
		dot < strings.LastIndexByte(call, '/') || !token.IsExported(call[dot+1:]) || !token.IsIdentifier(call[dot+1:]) {
		return "", "", 0, false
	}
	identity, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(identity) {
		return "", "", 0, false
	}
	return call[:dot], call[dot+1:], identity, true
}

// ParseRedop returns the reduction operator of a text.
func ParseRedop(text string) (Redop, error) {
	r := Redop(text)
	if _, _, _, own := r.Own(); own || slices.Contains(redops, text) {
		return r, nil
	}
	return NoRedop, fmt.Errorf("unknown reduction operator %q", text)
}

// UnmarshalText reads what ParseRedop accepts, or nothing for NoRedop.
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

// Conflict reports whether two accesses of overlapping elements must be ordered: at least one of them writes
// (or uses the memory as scratch). So reductions are ordered, too: a fold is no atomic operation, and sums of
// floating-point numbers depend on their order.
func Conflict(p, q Perm) bool { return p != None && q != None && (p != Read || q != Read) }
