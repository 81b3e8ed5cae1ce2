package trainlog

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// Chart draws losses over steps: those of each step, and a running mean.
type Chart struct {
	first  int // step
	losses []float64
}

// Add notes the loss of a step. Steps follow each other.
func (c *Chart) Add(step int, loss float64) {
	if len(c.losses) == 0 {
		c.first = step
	}
	c.losses = append(c.losses, loss)
}

// Sizes of the chart in pixels.
const (
	chartWidth, chartHeight       = 800, 400
	chartLeft, chartRight         = 70, 20
	chartTop, chartBottom         = 40, 50
	chartWide                     = chartWidth - chartLeft - chartRight
	chartHigh                     = chartHeight - chartTop - chartBottom
	dotColor, meanColor, gridLine = "#9db7d5", "#1f4e8c", "#dddddd"
)

// Write writes the chart as SVG. The axis of losses is logarithmic, since losses fall fast at first. Losses
// that are not above 0 and finite are left out.
func (c *Chart) Write(out io.Writer) error {
	w := bufio.NewWriter(out)
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range c.losses {
		if drawn(l) {
			low, high = min(low, l), max(high, l)
		}
	}
	if low > high {
		low, high = 0.1, 1 // nothing to draw
	}
	least, most := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if least == most {
		most++
	}
	x := func(i int) float64 { return chartLeft + chartWide*float64(i)/float64(max(len(c.losses)-1, 1)) }
	y := func(loss float64) float64 {
		return chartTop + chartHigh*(most-math.Log10(loss))/(most-least)
	}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(w, `<title>Loss of each step</title><rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(w, `<text x="%d" y="22">loss of each training step, and its running mean</text>`+"\n", chartLeft)
	for power := least; power <= most; power++ {
		at := y(math.Pow(10, power))
		fmt.Fprintf(w, `<path d="M%d %.1fh%d" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", chartLeft, at, chartWide, gridLine, chartLeft-8, at+4, math.Pow(10, power))
	}
	const marks = 5
	for k := range marks + 1 {
		i := k * max(len(c.losses)-1, 1) / marks
		fmt.Fprintf(w, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(i), chartHeight-chartBottom+20, c.first+i)
	}
	fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle">step</text>`+"\n", chartLeft+chartWide/2, chartHeight-10)
	fmt.Fprintf(w, `<g fill="%s">`+"\n", dotColor)
	for i, l := range c.losses {
		if drawn(l) {
			fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="1.2"/>`, x(i), y(l))
		}
	}
	fmt.Fprintf(w, "\n</g>\n"+`<polyline fill="none" stroke="%s" stroke-width="2" points="`, meanColor)
	share, mean := 2/float64(len(c.losses)/20+2), math.NaN() // a twentieth of the steps counts
	for i, l := range c.losses {
		if !drawn(l) {
			continue
		}
		if math.IsNaN(mean) {
			mean = l
		}
		mean += share * (l - mean)
		fmt.Fprintf(w, "%.1f,%.1f ", x(i), y(mean))
	}
	fmt.Fprint(w, "\"/>\n</svg>\n")
	return w.Flush()
}

// drawn reports whether a logarithmic axis has a place for a loss.
func drawn(loss float64) bool { return loss > 0 && !math.IsInf(loss, 1) }
