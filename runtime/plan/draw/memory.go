package draw

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// kind says what a root holds. It decides the color.
type kind int

const (
	fed kind = iota
	activation
	gradient
	scratch
	fetched
)

var kinds = [...]struct{ name, color string }{
	fed:        {"fed by the caller", "#59a14f"},
	activation: {"made in forward", "#4e79a7"},
	gradient:   {"made in backward or update", "#f28e2b"},
	scratch:    {"scratch", "#b3b0ab"},
	fetched:    {"fetched by the caller", "#b07aa1"},
}

// kindsOf returns what the roots of a plan hold.
func kindsOf(p *plan.Plan) []kind {
	out := make([]kind, len(p.Roots))
	known := make([]bool, len(p.Roots))
	for i := range p.Roots {
		switch p.Roots[i].Use {
		case plan.Fed:
			out[i], known[i] = fed, true
		case plan.Fetched:
			out[i], known[i] = fetched, true
		}
	}
	backward := false // a built-in operation belongs to the phase of the task before it
	for i := range p.Tasks {
		if ph := phase(p, i); ph != "" {
			backward = ph == "backward" || ph == "update"
		}
		for _, a := range p.Tasks[i].Access {
			if known[a.Root] {
				continue
			}
			known[a.Root] = true
			switch {
			case a.Perm == perm.Scratch:
				out[a.Root] = scratch
			case backward:
				out[a.Root] = gradient
			default:
				out[a.Root] = activation
			}
		}
	}
	return out
}

// Sizes in pixels.
const (
	mapLeft, mapTop     = 84, 64
	mapWidth, mapHeight = 1180, 560
	mapRight, mapBottom = 24, 92
)

// MemoryMap writes a plan's arena as an SVG picture: time from left to right, a task in each column,
// memory from bottom to top, and a rectangle for each tensor. A line shows how many bytes are needed at each
// task; its highest point is the lower bound.
func MemoryMap(w io.Writer, p *plan.Plan) error {
	m := memoryMap{drawing: drawing{bufio.NewWriter(w)}, plan: p, kinds: kindsOf(p)}
	m.columns = float64(len(p.Tasks) + 2) // before the first task, inputs are fed; after the last, results fetched
	m.bytes = float64(max(p.ArenaBytes, 1))
	width, height := mapLeft+mapWidth+mapRight, mapTop+mapHeight+mapBottom
	m.open(width, height)
	m.text(mapLeft, 26, `font-size="17" font-weight="bold" fill="#222222"`, "Memory of plan "+p.Name)
	m.text(mapLeft, 46, `font-size="12" fill="#555555"`, fmt.Sprintf("%s in the arena, lower bound %s; %d tensors, %d tasks; variables take %s elsewhere",
		byteCount(float64(p.ArenaBytes)), byteCount(float64(p.LowerBound())), m.tensors(), len(p.Tasks), byteCount(float64(p.VariableBytes()))))
	m.phases()
	m.grid()
	m.rectangles()
	m.needed()
	m.legend()
	m.printf("</svg>\n")
	return m.Flush()
}

type memoryMap struct {
	drawing
	plan    *plan.Plan
	kinds   []kind
	columns float64
	bytes   float64
}

// x returns where the column of a task begins; -1 is the one in front of the first.
func (m *memoryMap) x(task int) float64 { return mapLeft + float64(task+1)/m.columns*mapWidth }

func (m *memoryMap) y(bytes float64) float64 { return mapTop + mapHeight*(1-bytes/m.bytes) }

// inArena reports whether a root takes memory of the arena.
func inArena(r *plan.Root) bool {
	return r.Place.Space == region.Arena && r.Place.Bytes > 0 && r.First <= r.Last
}

func (m *memoryMap) tensors() int {
	n := 0
	for i := range m.plan.Roots {
		if inArena(&m.plan.Roots[i]) {
			n++
		}
	}
	return n
}

// phases shades the phases and names them below the picture.
func (m *memoryMap) phases() {
	p := m.plan
	for i := 0; i < len(p.Tasks); {
		from, name := i, phase(p, i)
		for i++; i < len(p.Tasks) && (phase(p, i) == name || phase(p, i) == ""); i++ {
		}
		if name == "" {
			name = phase(p, min(i, len(p.Tasks)-1)) // built-in operations in front of a phase
			for ; i < len(p.Tasks) && (phase(p, i) == name || phase(p, i) == ""); i++ {
			}
		}
		x, width := m.x(from), m.x(i)-m.x(from)
		m.printf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" opacity="0.45"/>`+"\n", x, mapTop, width, mapHeight, phaseColors[name])
		if width > charWidth*float64(len(name)) {
			m.text(x+width/2, mapTop+mapHeight+34, `font-size="12" fill="#555555" text-anchor="middle"`, name)
		}
	}
}

// grid draws the axes.
func (m *memoryMap) grid() {
	step := niceStep(m.bytes / 6)
	for b := 0.0; b <= m.bytes; b += step {
		y := m.y(b)
		m.printf(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#cccccc" stroke-width="0.6"/>`+"\n", mapLeft, y, mapLeft+mapWidth, y)
		m.text(mapLeft-8, y+4, `font-size="11" fill="#555555" text-anchor="end"`, byteCount(b))
	}
	every := max(int(math.Ceil(float64(len(m.plan.Tasks))/20)), 1)
	for i := 0; i < len(m.plan.Tasks); i += every {
		m.text((m.x(i)+m.x(i+1))/2, mapTop+mapHeight+16, `font-size="10" fill="#777777" text-anchor="middle"`, fmt.Sprint(i))
	}
	m.text(mapLeft-8, mapTop+mapHeight+16, `font-size="10" fill="#777777" text-anchor="end"`, "task")
}

// rectangles draws the tensors, each with its name if there is room. Its size, place and lifetime are a
// tooltip.
func (m *memoryMap) rectangles() {
	for i := range m.plan.Roots {
		r := &m.plan.Roots[i]
		if !inArena(r) {
			continue
		}
		x, y := m.x(r.First), m.y(float64(r.Place.Off+r.Place.Bytes))
		width, height := m.x(r.Last+1)-x, float64(r.Place.Bytes)/m.bytes*mapHeight
		m.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" fill-opacity="0.88" stroke="#ffffff" stroke-width="%.2f"><title>%s</title></rect>`+"\n",
			x, y, width, height, kinds[m.kinds[i]].color, min(0.8, height/4, width/4),
			escape(fmt.Sprintf("%s %v, %s at %d, tasks %d to %d", r.Name, r.Operand(), byteCount(float64(r.Place.Bytes)), r.Place.Off, r.First, r.Last)))
		if label := fit(r.Name, width-8); label != "" && height >= 12 {
			m.text(x+width/2, y+height/2+3.5, `font-size="10" fill="#ffffff" text-anchor="middle" pointer-events="none"`, label)
		}
	}
}

// needed draws how many bytes are live at each task.
func (m *memoryMap) needed() {
	p := m.plan
	live := make([]float64, len(p.Tasks)+2)
	for i := range p.Roots {
		if r := &p.Roots[i]; inArena(r) {
			for t := r.First; t <= r.Last; t++ {
				live[t+1] += float64(r.Place.Bytes)
			}
		}
	}
	m.printf(`<path fill="none" stroke="#222222" stroke-width="1.4" stroke-dasharray="5 3" d="`)
	command := "M"
	for t, b := range live {
		m.printf("%s%.1f %.1fH%.1f", command, m.x(t-1), m.y(b), m.x(t))
		command = "L"
	}
	m.printf(`"/>` + "\n")
}

func (m *memoryMap) legend() {
	x, y := float64(mapLeft), float64(mapTop+mapHeight+68)
	for _, k := range kinds {
		m.printf(`<rect x="%.1f" y="%.1f" width="13" height="13" rx="2" fill="%s" fill-opacity="0.88"/>`+"\n", x, y-11, k.color)
		m.text(x+19, y, `font-size="12" fill="#333333"`, k.name)
		x += 19 + 6.6*float64(len(k.name)) + 22
	}
	m.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#222222" stroke-width="1.4" stroke-dasharray="5 3"/>`+"\n", x, y-5, x+26, y-5)
	m.text(x+32, y, `font-size="12" fill="#333333"`, "bytes needed at each task")
}

// niceStep returns the power of two that is not below a number of bytes.
func niceStep(atLeast float64) float64 { return math.Exp2(math.Ceil(math.Log2(max(atLeast, 1)))) }

// byteCount formats a number of bytes.
func byteCount(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return fmt.Sprintf("%.4g %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.4g GiB", n)
}
