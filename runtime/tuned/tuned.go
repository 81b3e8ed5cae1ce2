// Package tuned reads and writes tables of choices that were measured: in how many ranges a step of a task
// runs, by processor, operator and sizes. A choice changes the time of a task, and no bit of its results.
package tuned

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Device is the device on which an entry was measured.
type Device struct {
	Processor string // as Processor returns it
	Workers   int
}

// Use names the uses of a task that share a choice.
type Use struct {
	Operator string // the full name
	Task     string
	Attrs    string // JSON
	Types    string // of the element type variables
	Shapes   string // of the inputs, with extents rounded up to powers of 2: "input=64x1024 bias=1024"
}

// Entry is a choice for some uses on a device.
type Entry struct {
	Device
	Use
	Ranges int // into how many ranges each step is cut, about; 1 to mostRanges
	// Line and Column are the place in the file, from 1; 0 if the entry comes from none.
	Line, Column int
}

// mostRanges is the largest number of ranges of an entry.
const mostRanges = 1 << 12

// compare orders entries as files have them.
func compare(a, b *Entry) int {
	return cmp.Or(strings.Compare(a.Processor, b.Processor), cmp.Compare(a.Workers, b.Workers), strings.Compare(a.Operator, b.Operator),
		strings.Compare(a.Task, b.Task), strings.Compare(a.Attrs, b.Attrs), strings.Compare(a.Types, b.Types), strings.Compare(a.Shapes, b.Shapes))
}

// Table is a list of entries, each for another device or other uses.
type Table struct{ Entries []Entry }

// Set adds an entry, in place of one for the same device and uses.
func (t *Table) Set(e Entry) {
	t.Drop(e.Device, e.Use)
	t.Entries = append(t.Entries, e)
}

// Drop removes the entry for a device and uses, if there is one.
func (t *Table) Drop(on Device, u Use) {
	t.Entries = slices.DeleteFunc(t.Entries, func(e Entry) bool { return e.Device == on && e.Use == u })
}

// Choices are the entries of a table for one device. A nil *Choices has none.
type Choices struct {
	ranges    map[Use]int
	operators map[string]bool
}

// For returns the choices for a device. Entries for others are left out.
func (t *Table) For(on Device) *Choices {
	c := &Choices{map[Use]int{}, map[string]bool{}}
	for _, e := range t.Entries {
		if e.Device == on {
			c.ranges[e.Use], c.operators[e.Operator] = e.Ranges, true
		}
	}
	return c
}

// Ranges returns into how many ranges the steps of an operator's task are cut in a use; 0 if there is no
// choice. The error says that the attributes cannot be written as JSON.
func (c *Choices) Ranges(s *task.Signature, r *task.Resolution) (int, error) {
	if c == nil || !c.operators[s.Operator.FullName()] {
		return 0, nil
	}
	u, err := UseOf(s, r)
	return c.ranges[u], err
}

// UseOf returns the name of a use of an operator's task.
func UseOf(s *task.Signature, r *task.Resolution) (Use, error) {
	attrs, err := attr.Marshal(r.Attrs)
	if err != nil {
		return Use{}, fmt.Errorf("operator %s: %w", s.Operator.FullName(), err)
	}
	return Use{s.Operator.FullName(), s.Task, string(attrs), dtype.Format(r.Types), Shapes(s.Operator, r.Given().Operands, Rounded)}, nil
}

// Shapes formats the shapes of an operator's operands, by slot. f formats an extent.
func Shapes(o *task.Operator, given [][]task.Operand, f func(extent int) int) string {
	var b strings.Builder
	for slot, operands := range given {
		for i, x := range operands {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(o.Slots[slot].Name)
			if o.Slots[slot].Variadic {
				fmt.Fprintf(&b, ".%d", i)
			}
			b.WriteByte('=')
			for d, n := range x.Shape {
				if d > 0 {
					b.WriteByte('x')
				}
				fmt.Fprint(&b, f(n))
			}
		}
	}
	return b.String()
}

// Rounded returns the smallest power of 2 that is not less than an extent; 0 for 0. Extents with the same one
// share choices.
func Rounded(extent int) int {
	if extent <= 1 {
		return extent
	}
	return 1 << bits.Len(uint(extent-1))
}
