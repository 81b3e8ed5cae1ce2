package draw

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/timeline"
)

// waitColor is the color of waits.
const waitColor = "#e15759"

// Sizes of timelines, in pixels.
const (
	laneLeft, laneTop      = 84, 64
	laneWidth, laneRight   = 1180, 24
	laneHeight, laneGap    = 34, 22
	laneAxis, laneLegend   = 36, 30
	laneLetters, laneTitle = 10, 17
)

// Timeline writes a timeline as an SVG picture: time from left to right, a lane for each worker, and a
// rectangle for each range of a task and for each wait. Tasks have the colors of their phases. A wait has a
// color of its own, and says for which worker and which task the worker waits. Below each lane stands how
// long the worker runs and waits. Times are from the beginning of the first span.
func Timeline(w io.Writer, t *timeline.Timeline) error {
	d := drawing{bufio.NewWriter(w)}
	begin := math.Inf(1)
	for _, spans := range t.Workers {
		for i := range spans {
			begin = min(begin, spans[i].Begin)
		}
	}
	seconds := t.Seconds()
	x := func(at float64) float64 { return laneLeft + (at-begin)/max(seconds, 1e-12)*laneWidth }
	bottom := laneTop + len(t.Workers)*(laneHeight+laneGap)
	width, height := laneLeft+laneWidth+laneRight, bottom+laneAxis+laneLegend
	d.open(width, height)
	d.text(laneLeft, 26, fmt.Sprintf(`font-size="%d" font-weight="bold" fill="#222222"`, laneTitle), "Timeline of "+t.Name)
	d.text(laneLeft, 46, `font-size="12" fill="#555555"`, fmt.Sprintf("%s, workers: %d", duration(seconds), len(t.Workers)))
	step := niceTime(seconds / 8)
	for at := 0.0; at <= seconds && step > 0; at += step {
		d.printf(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#cccccc" stroke-width="0.6"/>`+"\n", x(begin+at), laneTop-8, x(begin+at), bottom)
		d.text(x(begin+at), float64(bottom)+14, `font-size="11" fill="#555555" text-anchor="middle"`, duration(at))
	}
	phases := map[string]bool{}
	for worker, spans := range t.Workers {
		y := float64(laneTop + worker*(laneHeight+laneGap))
		d.text(laneLeft-8, y+laneHeight/2+4, `font-size="12" fill="#333333" text-anchor="end"`, fmt.Sprintf("worker %d", worker))
		d.text(laneLeft, y+laneHeight+13, `font-size="10" fill="#777777"`,
			fmt.Sprintf("runs for %s, waits for %s", duration(t.Total(worker, timeline.Run)), duration(t.Total(worker, timeline.Wait))))
		for i := range spans {
			s := &spans[i]
			if s.Kind == timeline.Signal {
				continue
			}
			color, label, ink := waitColor, t.Describe(s), "#ffffff"
			if s.Kind == timeline.Run {
				name := phase(t.Plan, s.Task)
				phases[name] = true
				color, ink = phaseColors[name], "#222222"
				if t.Plan.Tasks[s.Task].Ranges() > 1 || t.Plan.Tasks[s.Task].Tile > 0 {
					label += " " + s.Range.String()
				}
			}
			left, right := x(s.Begin), x(s.End)
			d.printf(`<rect x="%.2f" y="%.1f" width="%.2f" height="%d" fill="%s" stroke="#888888" stroke-width="%.2f"><title>%s</title></rect>`+"\n",
				left, y, right-left, laneHeight, color, min(0.6, (right-left)/4), escape(fmt.Sprintf("%s, %s to %s, %s", label, duration(s.Begin-begin), duration(s.End-begin), duration(s.Seconds()))))
			if label = fit(label, right-left-6); label != "" {
				d.text((left+right)/2, y+laneHeight/2+3.5, fmt.Sprintf(`font-size="%d" fill="%s" text-anchor="middle" pointer-events="none"`, laneLetters, ink), label)
			}
		}
	}
	at := float64(laneLeft)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range phases {
			if !yield(name) {
				return
			}
		}
	}) {
		at = d.key(at, float64(bottom+laneAxis+8), phaseColors[name], phaseName(name))
	}
	d.key(at, float64(bottom+laneAxis+8), waitColor, "waits")
	d.printf("</svg>\n")
	return d.Flush()
}

// phaseName names a phase in legends.
func phaseName(phase string) string {
	if phase == "" {
		return "built-in"
	}
	return phase
}

// duration formats seconds.
func duration(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.4g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.4g ms", s*1e3)
	}
	return fmt.Sprintf("%.4g s", s)
}

// niceTime returns 1, 2 or 5 times a power of ten that is not below a time; 0 of 0.
func niceTime(atLeast float64) float64 {
	if atLeast <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(atLeast)))
	for _, k := range []float64{1, 2, 5} {
		if k*unit >= atLeast {
			return k * unit
		}
	}
	return 10 * unit
}
