package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/test/networks"
)

// report is what a run measured.
type report struct {
	version  answer
	leftOut  []string
	plainC   float64 // nanoseconds of the MLP's step
	loops    []row   // formulas beside loops in C, on one thread
	sections []section
}

// section is the figures with a number of threads.
type section struct {
	threads                                 int
	machine                                 cost.Machine
	operators, formulas, networks, products []row
}

// aim is the ratio up to which an operator is not counted as behind its peer.
const aim = 1.2

const introduction = `# Performance beside peers

    make bench-peers

Times of this module divided by those of its peers: what is below 1 is faster here. Both sides run in turn in one process each, and each time
is the least wall-clock time of many runs in several rounds. An operator's forward task, and its forward and backward tasks, write to memory that is
there; [PyTorch](https://pytorch.org) runs the same operator eagerly, and allocates its results. Tensors are float32, most of them with 1 to 4 Mi
elements; matrices of weights have small elements, as initializers draw them. Before a row is measured, the outputs of both sides are compared. Where a figure has a star, PyTorch computes no gradient: it returns the gradient that
it is given, or a view of it, which the next operator reads in its place, while a task here writes a tensor. Machine: %s/%s%s, %d processors.

`

// markdown returns the report as a page.
func (r *report) markdown() string {
	var w bytes.Buffer
	instructions := ""
	switch {
	case cpu.X86.HasAVX512F:
		instructions = " with AVX-512"
	case cpu.X86.HasAVX2:
		instructions = " with AVX2"
	}
	fmt.Fprintf(&w, introduction, runtime.GOOS, runtime.GOARCH, instructions, runtime.NumCPU())
	if r.version.Torch != "" {
		fmt.Fprintf(&w, "PyTorch is %s. ", r.version.Torch)
	}
	if r.version.Blas != "" {
		fmt.Fprintf(&w, "PyTorch's products and those beside ours are [OpenBLAS](https://www.openblas.net)'s, with kernels for %s.\n\n", r.version.Blas)
	}
	for _, l := range r.leftOut {
		fmt.Fprintf(&w, "Left out: %s\n\n", l)
	}
	if slices.ContainsFunc(r.sections, func(s section) bool { return len(s.operators) > 0 }) {
		fmt.Fprint(&w, "![ratios of all operators](performance-peers.svg)\n\n![shares of rooflines](performance-roofline.svg)\n\n")
	}
	for _, s := range r.sections {
		s.print(&w, r.plainC)
	}
	r.printLoops(&w)
	return strings.TrimRight(w.String(), "\n") + "\n"
}

// print prints the tables of a number of threads.
func (s *section) print(w *bytes.Buffer, plainC float64) {
	fmt.Fprintf(w, "## Threads: %d\n\n", s.threads)
	if len(s.operators) > 0 {
		forward, both := ratios(s.operators)
		all := slices.Concat(forward, both)
		above, views := 0, 0
		for _, r := range s.operators {
			for _, f := range []figure{r.forward, r.both} {
				if f.peer > 0 && f.ratio() > aim {
					above++
					if r.views && f == r.both {
						views++
					}
				}
			}
		}
		fmt.Fprintf(w, "%d figures of %d rows: geometric mean %.2f (forward %.2f", len(all), len(s.operators), geometricMean(all), geometricMean(forward))
		if len(both) > 0 {
			fmt.Fprintf(w, ", forward and backward %.2f", geometricMean(both))
		}
		fmt.Fprintf(w, "), worst %.1f, %d above %.1f", slices.Max(all), above, aim)
		if views > 0 {
			fmt.Fprintf(w, ", of which %d are gradients that PyTorch does not compute (*)", views)
		}
		fmt.Fprint(w, ".\n\n")
		table(w, "operator", "PyTorch", s.operators)
		s.printLimits(w)
	}
	if len(s.formulas) > 0 {
		s.printFormulas(w)
	}
	if len(s.networks) > 0 {
		fmt.Fprint(w, "Networks: forward, and a training step.\n\n")
		table(w, "network", "PyTorch", s.networks)
		for _, n := range s.networks {
			if n.title == networks.All[0].Title && plainC > 0 {
				fmt.Fprintf(w, "The MLP's step takes %.3f ms in plain C on one thread, which is %.1f times less.\n\n", plainC/1e6, n.both.own/plainC)
			}
		}
		fmt.Fprint(w, "The most memory that a process has in use which only trains the network, in MiB, with the runtime of its language.\n\n| network | here | PyTorch | ratio |\n|---|---:|---:|---:|\n")
		for _, n := range s.networks {
			if m := n.memory; m.own > 0 && m.peer > 0 {
				fmt.Fprintf(w, "| %s | %.0f | %.0f | %.2f |\n", n.title, m.own/(1<<20), m.peer/(1<<20), m.ratio())
			}
		}
		fmt.Fprintln(w)
	}
	if len(s.products) > 0 {
		fmt.Fprint(w, "Products of square matrices, in GFLOP/s.\n\n| type, extent | here | OpenBLAS | here / OpenBLAS |\n|---|---:|---:|---:|\n")
		for _, p := range s.products {
			var n float64
			fmt.Sscan(p.title[strings.LastIndexByte(p.title, ' ')+1:], &n)
			flops := 2 * n * n * n
			fmt.Fprintf(w, "| %s | %.0f | %.0f | %.2f |\n", p.title, flops/p.forward.own, flops/p.forward.peer, 1/p.forward.ratio())
		}
		fmt.Fprintln(w)
	}
}

// bound is the ratio up to which a formula is as fast as it should be beside PyTorch.
const bound = 1.5

// printFormulas prints the table of sequences, places that are computed, searches and repetitions.
func (s *section) printFormulas(w *bytes.Buffer) {
	forward, both := ratios(s.formulas)
	all := slices.Concat(forward, both)
	above := 0
	for _, x := range all {
		if x > bound {
			above++
		}
	}
	fmt.Fprintf(w, "Formulas that go over steps, read at computed places, search or repeat: %d figures of %d rows, geometric mean %.2f, worst %.1f, %d above %.1f. "+
		"Where PyTorch has one operator for a row, it stands beside that one, otherwise beside what a user of PyTorch writes of several: a loop over steps, or gathers.\n\n",
		len(all), len(s.formulas), geometricMean(all), slices.Max(all), above, bound)
	table(w, "formula", "PyTorch", s.formulas)
}

// printLoops prints the table of formulas beside C.
func (r *report) printLoops(w *bytes.Buffer) {
	if len(r.loops) == 0 {
		return
	}
	fmt.Fprintf(w, "## Formulas beside C\n\nTasks of formulas on 4 Mi elements of float32, rows of 1024, or on the size that a row says, with one thread, beside the same loops in C: "+
		"`test/benchpeers/programs/loops.c`, compiled by `cc %s`. Its elementary functions have fewer digits, and its sums are of float32 only.\n\n"+
		"| task | here, ms | C, ms | here / C |\n|---|---:|---:|---:|\n", strings.Join(cFlags, " "))
	for _, l := range sorted(r.loops) {
		fmt.Fprintf(w, "| %s | %s |\n", l.title, columns(l.forward))
	}
	fmt.Fprintln(w)
}

// ratios returns the ratios of rows, forward, and forward and backward where there is a gradient.
func ratios(rows []row) (forward, both []float64) {
	for _, r := range rows {
		forward = append(forward, r.forward.ratio())
		if r.both.peer > 0 {
			both = append(both, r.both.ratio())
		}
	}
	return forward, both
}

// table prints rows, the slowest ones beside the peer first.
func table(w *bytes.Buffer, what, peer string, rows []row) {
	fmt.Fprintf(w, "| %s | forward, ms | %s | ratio | and backward, ms | %s | ratio |\n|---|---:|---:|---:|---:|---:|---:|\n", what, peer, peer)
	for _, r := range sorted(rows) {
		fmt.Fprintf(w, "| %s | %s", r.title, columns(r.forward))
		if r.both.peer > 0 {
			mark := ""
			if r.views {
				mark = " *"
			}
			fmt.Fprintf(w, " | %s%s |\n", columns(r.both), mark)
		} else {
			fmt.Fprint(w, " | | | |\n")
		}
	}
	fmt.Fprintln(w)
}

func sorted(rows []row) []row {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b row) int {
		if worst(a) > worst(b) {
			return -1
		}
		return 1
	})
}

// worst returns the greater ratio of a row.
func worst(r row) float64 {
	if r.both.peer > 0 {
		return max(r.forward.ratio(), r.both.ratio())
	}
	return r.forward.ratio()
}

func columns(f figure) string {
	digits := func(ns float64) string { return fmt.Sprintf("%.3g", ns/1e6) }
	return fmt.Sprintf("%s | %s | %.2f", digits(f.own), digits(f.peer), f.ratio())
}

// Measures of the plot, in pixels.
const (
	lineHeight = 15
	labelWidth = 250
	plotWidth  = 500
)

// plot returns the ratios of the operators with the first number of threads as an SVG picture: a circle for
// forward, a square for forward and backward, on a logarithmic scale.
func (r *report) plot() string {
	var w bytes.Buffer
	var rows []row
	if len(r.sections) > 0 {
		rows = sorted(r.sections[0].operators)
	}
	least, most := 0.1, 10.0
	for _, x := range rows {
		for _, f := range []figure{x.forward, x.both} {
			if f.peer > 0 {
				least, most = min(least, f.ratio()), max(most, f.ratio())
			}
		}
	}
	lo, hi := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	at := func(ratio float64) float64 { return labelWidth + (math.Log10(ratio)-lo)/(hi-lo)*plotWidth }
	height := (len(rows) + 3) * lineHeight
	fmt.Fprintf(&w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", labelWidth+plotWidth+30, height)
	fmt.Fprintln(&w, `<rect width="100%" height="100%" fill="white"/>`)
	for d := lo; d <= hi; d++ {
		x := at(math.Pow(10, d))
		fmt.Fprintf(&w, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/><text x="%.1f" y="12" text-anchor="middle">%g</text>`+"\n",
			x, lineHeight, x, height-lineHeight, map[bool]string{true: "black", false: "lightgray"}[d == 0], x, math.Pow(10, d))
	}
	for i, x := range rows {
		y := (i + 2) * lineHeight
		fmt.Fprintf(&w, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-5, y+4, html.EscapeString(x.title))
		fmt.Fprintf(&w, `<circle cx="%.1f" cy="%d" r="4" fill="steelblue"/>`, at(x.forward.ratio()), y)
		if x.both.peer > 0 {
			fmt.Fprintf(&w, `<rect x="%.1f" y="%d" width="7" height="7" fill="none" stroke="firebrick"/>`, at(x.both.ratio())-3.5, y-3)
		}
		fmt.Fprintln(&w)
	}
	fmt.Fprintf(&w, `<text x="%d" y="%d">time / PyTorch's: circles forward, squares forward and backward</text>`+"\n</svg>\n", labelWidth, height-3)
	return w.String()
}
