package loops

import (
	"fmt"
	"maps"
	"strings"

	"github.com/opgen/opgen/formula/term"
)

// key returns a text of a value. Values with equal texts are equal, until a tensor that they load is written.
func (c *compiler[T]) key(n *term.Term) string {
	var b strings.Builder
	c.name(&b, n)
	return b.String()
}

func (c *compiler[T]) name(b *strings.Builder, n *term.Term) {
	if n == nil {
		b.WriteString("-")
		return
	}
	if v, ok := n.Settled(); ok {
		fmt.Fprintf(b, "%v ", v)
		return
	}
	switch n.Op {
	case term.Index:
		fmt.Fprintf(b, "v%d ", c.place(n.Var))
		return
	case term.Element:
		b.WriteString(tensorKey(n.Read.Tensor))
		for i := 1; i < n.Read.Count; i++ {
			b.WriteString(tensorKey(n.Read.Tensor + i))
		}
		for i, x := range n.Read.Idx {
			c.name(b, x)
			c.name(b, n.Read.Ext[i])
		}
		c.name(b, n.Read.Which)
		c.name(b, n.Read.Else)
		if c.lenient {
			b.WriteString("?")
		}
		b.WriteString("]")
		return
	case term.Reduce:
		fmt.Fprintf(b, "%s%d(", n.Reduction.Kind, n.Reduction.Part)
		for _, v := range n.Reduction.Vars {
			fmt.Fprintf(b, "v%d ", c.place(v))
		}
		c.name(b, n.Reduction.Guard)
		c.name(b, n.Reduction.Body)
		c.name(b, n.Reduction.Number)
		b.WriteString(")")
		return
	}
	fmt.Fprintf(b, "(%d.%d", n.Op, n.Kind)
	if n.Func != nil {
		b.WriteString(n.Func.Name)
		if n.Func.Has(term.Conversion) {
			fmt.Fprintf(b, "%p", n.Func)
		}
	}
	for _, a := range n.Args {
		b.WriteString(" ")
		c.name(b, a)
	}
	b.WriteString(")")
}

// tensorKey returns the part of a key that stands for a load from tensor t.
func tensorKey(t int) string { return fmt.Sprintf("E%d[", t) }

func cloned[V any](m map[string]V) map[string]V { return maps.Clone(m) }
