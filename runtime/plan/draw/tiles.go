package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// Sizes of tile graphs, in pixels.
const (
	tilesLeft, tilesTop    = 300, 64
	tilesWidth, tilesRight = 1100, 24
	tileHeight, tileGap    = 22, 40
	widestTile             = 76
)

// Tiles writes the graph of a plan's tasks as an SVG picture: a row for each layer, which is a step of a call
// or a built-in operation, with a box for each of its tasks, and a line for each dependency. Of a layer that
// is cut into tiles, each tile is a box. The title of a box says what the tile is and what it touches; that
// of a line, which tasks it orders. Dependencies that follow from others are left out, as the plan leaves
// them out.
func Tiles(w io.Writer, p *plan.Plan) error {
	d := drawing{bufio.NewWriter(w)}
	layers := layersOf(p)
	if n := p.Deps.Len(); n != len(p.Tasks) {
		return fmt.Errorf("draw: plan %s: want predecessors of %d tasks, got those of %d", p.Name, len(p.Tasks), n)
	}
	width, height := tilesLeft+tilesWidth+tilesRight, tilesTop+len(layers)*(tileHeight+tileGap)+20
	d.open(width, height)
	d.text(24, 26, `font-size="17" font-weight="bold" fill="#222222"`, "Tiles of plan "+p.Name)
	d.text(24, 46, `font-size="12" fill="#555555"`, fmt.Sprintf("layers: %d, tasks: %d, dependencies: %d", len(layers), len(p.Tasks), p.Deps.Edges()))
	// Where the boxes are.
	left, top, each := make([]float64, len(p.Tasks)), make([]float64, len(p.Tasks)), make([]float64, len(p.Tasks))
	for row, l := range layers {
		size := min(widestTile, float64(tilesWidth)/float64(l.end-l.first))
		for t := l.first; t < l.end; t++ {
			left[t], top[t], each[t] = tilesLeft+float64(t-l.first)*size, float64(tilesTop+row*(tileHeight+tileGap)), size
		}
	}
	for t := range p.Tasks {
		preds := p.Deps.Preds(t)
		opacity := min(0.6, max(5/float64(max(len(preds), 1)), 0.04)) // so that many lines do not hide others
		for _, v := range preds {
			x1, y1, x2, y2 := left[v]+each[v]/2, top[v]+tileHeight, left[t]+each[t]/2, top[t]
			bend := (y2 - y1) / 2
			if y2 < y1 { // tiles of one layer
				bend = tileGap / 2
				y2 = top[t] + tileHeight
			}
			end := y2 - bend
			if y2 == y1 {
				end = y2 + bend
			}
			d.printf(`<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="#7a7a7a" stroke-width="0.7" stroke-opacity="%.2f"><title>%d before %d</title></path>`+"\n",
				x1, y1, x1, y1+bend, x2, end, x2, y2, opacity, v, t)
		}
	}
	var box region.Box
	for _, l := range layers {
		label := p.Label(l.first)
		d.text(tilesLeft-12, top[l.first]+tileHeight/2+4, `font-size="11" fill="#333333" text-anchor="end"`, fit(label, tilesLeft-24))
		for t := l.first; t < l.end; t++ {
			what := []string{fmt.Sprintf("task %d: %s", t, label)}
			g := p.Tasks[t].Grid()
			if p.Tasks[t].Tile > 0 {
				what = append(what, fmt.Sprintf("tile %d of %d, %v", p.Tasks[t].Tile, g.Tiles(), g.Tile(p.Tasks[t].Tile-1)))
			}
			for i, a := range p.Tasks[t].Access {
				p.Tasks[t].On(i, &box)
				what = append(what, fmt.Sprintf("%v %s %v to %v", a.Perm, p.Roots[a.Root].Name, box.Lo, box.Hi))
			}
			d.printf(`<rect x="%.2f" y="%.1f" width="%.2f" height="%d" rx="2" fill="%s" stroke="#888888" stroke-width="%.2f"><title>%s</title></rect>`+"\n",
				left[t], top[t], each[t]*0.94, tileHeight, phaseColors[phase(p, t)], min(0.8, each[t]/6), escape(strings.Join(what, "\n")))
			if each[t] >= 24 {
				d.text(left[t]+each[t]*0.47, top[t]+tileHeight/2+3.5, `font-size="10" fill="#333333" text-anchor="middle" pointer-events="none"`, fmt.Sprint(t))
			}
		}
	}
	d.printf("</svg>\n")
	return d.Flush()
}

// layer is the tasks of a layer: [first, end).
type layer struct{ first, end int }

// layersOf returns the layers of a plan: tasks of one step that follow each other.
func layersOf(p *plan.Plan) []layer {
	var out []layer
	for t := range p.Tasks {
		if n := len(out); n > 0 {
			a, b := &p.Tasks[out[n-1].first], &p.Tasks[t]
			if a.Call >= 0 && a.Call == b.Call && a.Step == b.Step {
				out[n-1].end++
				continue
			}
		}
		out = append(out, layer{t, t + 1})
	}
	return out
}
