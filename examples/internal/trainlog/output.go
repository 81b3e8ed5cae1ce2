// Package trainlog shows and records how a training of an example goes: a bar or lines, the losses of all
// steps, a chart of them, and the time by task. It finds the step after which a training goes on.
package trainlog

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/opgen/opgen"
)

// Output passes on what is written, and keeps the first error in mind.
type Output struct {
	W   io.Writer
	Err error
}

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.W.Write(b)
	o.Err = cmp.Or(o.Err, err)
	return n, err
}

// terminal reports whether what is written appears on a terminal.
func terminal(w io.Writer) bool {
	if o, ok := w.(*Output); ok {
		w = o.W
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Progress shows how training goes: a bar on a terminal, lines elsewhere.
type Progress struct {
	w        io.Writer
	terminal bool
	total    int
	shown    time.Time
}

// NewProgress returns the progress of a training of so many steps.
func NewProgress(w io.Writer, total int) *Progress {
	return &Progress{w: w, terminal: terminal(w), total: total}
}

// Update says how many steps are done. The text appears in the line behind the bar, or if mark is true as a
// line of its own.
func (p *Progress) Update(done int, mark bool, text string) {
	if !p.terminal {
		if mark {
			fmt.Fprintln(p.w, text)
		}
		return
	}
	if !mark && time.Since(p.shown) < 50*time.Millisecond {
		return
	}
	p.shown = time.Now()
	const width = 24
	full := done * width / p.total
	fmt.Fprintf(p.w, "\r[%s%s] %s", strings.Repeat("=", full), strings.Repeat(" ", width-full), text)
	if done == p.total {
		fmt.Fprintln(p.w)
	}
}

// WriteTimes prints the time of each operator task, longest first.
func WriteTimes(w io.Writer, timings []opgen.Timing) {
	total := map[string]time.Duration{}
	runs := map[string]int{}
	var sum time.Duration
	for _, t := range timings {
		name := t.Label
		if _, task, ok := strings.Cut(name, ": "); ok {
			name = task
		} else {
			name, _, _ = strings.Cut(name, " ") // a built-in operation: "fill loss"
		}
		total[name] += t.Total
		runs[name] += t.Runs
		sum += t.Total
	}
	var names []string
	for n := range total {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) })
	fmt.Fprintln(w, "\ntime by operator task")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "task\truns\ttotal ms\tus a run\tshare\t")
	for _, n := range names {
		fmt.Fprintf(tw, "%s\t%d\t%.1f\t%.1f\t%.1f %%\t\n", n, runs[n], total[n].Seconds()*1e3, total[n].Seconds()*1e6/float64(runs[n]), 100*total[n].Seconds()/sum.Seconds())
	}
	tw.Flush()
}

// WriteFile creates a file and lets write fill it; without a path it does nothing.
func WriteFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
