package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/reach"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// picture shows an element of an output and what it is computed from, in an example of an operator.
type picture struct {
	Name  string // of the output
	Attrs string // of the example
	Maybe bool   // whether values decide on some elements
	svg   string
}

// mostElements is how many elements a tensor of a picture has at most.
const mostElements = 1 << 10

// draw draws an example of an operator: the first one in which an element is computed from others than that
// of the same place. It returns nil if there is none.
func draw(o *model.Operator) *picture {
	if o.Formula == "" {
		return nil
	}
	for i := range o.Operator.Examples {
		x := &o.Operator.Examples[i]
		p := example.Open(o, x)
		if p == nil {
			continue
		}
		out := slices.IndexFunc(p.Tensors, func(l *program.Local) bool {
			return l.Slot >= 0 && l.Given && o.Operator.Slots[l.Slot].Role == task.RoleOutput
		})
		if out < 0 || !drawable(p, out) {
			continue
		}
		dims := extentsOf(p.Tensors[out])
		middle := make([]int, len(dims))
		for d, n := range dims {
			middle[d] = n / 2
		}
		from, ok := reach.Of(p, out, middle)
		if !ok || plain(p, from) {
			continue
		}
		c := &canvas{}
		chosen := make([]reach.Use, shape.Prod(dims))
		chosen[number(middle, dims)] = reach.Used
		maybe := false
		for t, l := range p.Tensors {
			if from[t] == nil || l.Slot < 0 {
				continue
			}
			if !drawable(p, t) {
				c = nil
				break
			}
			maybe = maybe || slices.Contains(from[t], reach.Maybe)
			c.tensor(l, extentsOf(l), from[t], "#4878cf", "#b3c7f0")
		}
		if c == nil {
			continue
		}
		c.tensor(p.Tensors[out], dims, chosen, "#d1605e", "")
		return &picture{o.Operator.Slots[p.Tensors[out].Slot].Name, x.Attrs, maybe, c.svg(o.Name)}
	}
	return nil
}

// plain reports whether elements of no more than one place are used, of each tensor.
func plain(p *program.Program, from reach.Elements) bool {
	for t, uses := range from {
		if p.Tensors[t].Slot >= 0 && len(uses) > 1 && len(slices.DeleteFunc(slices.Clone(uses), func(u reach.Use) bool { return u == reach.Unused })) > 1 {
			return false
		}
	}
	return true
}

func drawable(p *program.Program, t int) bool {
	n := shape.Prod(extentsOf(p.Tensors[t]))
	return n > 0 && n <= mostElements
}

func extentsOf(l *program.Local) []int {
	out := make([]int, len(l.Shape))
	for i, d := range l.Shape {
		out[i], _ = d.Known()
	}
	return out
}

// number returns the row-major number of an index.
func number(index, dims []int) int {
	n := 0
	for d, i := range index {
		n = n*dims[d] + i
	}
	return n
}

// The sizes of pictures, in pixels.
const (
	side   = 12 // of an element
	gap    = 10
	line   = 18
	across = 720 // how wide a row of blocks may be
)

// canvas is a picture with a tensor below the other.
type canvas struct {
	body          strings.Builder
	width, height int
}

// tensor draws a tensor: blocks of its last two dimensions, side by side for all indices of the others. Used
// elements are filled.
func (c *canvas) tensor(l *program.Local, dims []int, uses []reach.Use, used, maybe string) {
	rows, cols, blocks := 1, 1, 1
	for d, n := range dims {
		switch len(dims) - d {
		case 1:
			cols = n
		case 2:
			rows = n
		default:
			blocks *= n
		}
	}
	title := fmt.Sprintf("%s %s", l.Name, shape.Format(dims))
	c.height += line
	fmt.Fprintf(&c.body, "<text x=\"%d\" y=\"%d\">%s</text>\n", gap, c.height, title)
	c.width = max(c.width, 2*gap+8*len(title))
	c.height += gap / 2
	x, y := gap, c.height
	for b := range blocks {
		if x > gap && x+cols*side > across {
			x, y = gap, y+rows*side+gap
		}
		fmt.Fprintf(&c.body, "<path class=\"grid\" d=\"%s\"/>\n", grid(x, y, rows, cols))
		for i := range rows * cols {
			color := ""
			switch uses[b*rows*cols+i] {
			case reach.Used:
				color = used
			case reach.Maybe:
				color = maybe
			}
			if color != "" {
				fmt.Fprintf(&c.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x+i%cols*side+1, y+i/cols*side+1, side-2, side-2, color)
			}
		}
		x += cols*side + gap
		c.width = max(c.width, x)
	}
	c.height = y + rows*side + gap
}

// grid returns the path of the lines of a block.
func grid(x, y, rows, cols int) string {
	var s strings.Builder
	for r := range rows + 1 {
		fmt.Fprintf(&s, "M%d %dh%d", x, y+r*side, cols*side)
	}
	for k := range cols + 1 {
		fmt.Fprintf(&s, "M%d %dv%d", x+k*side, y, rows*side)
	}
	return s.String()
}

// svg returns the picture on a white ground.
func (c *canvas) svg(operator string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>What an element of %s is computed from</title>
<style>text { font: 13px sans-serif } .grid { fill: none; stroke: #bbb }</style>
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, c.width, c.height, c.width, c.height, operator, c.body.String())
}
