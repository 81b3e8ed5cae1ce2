package main

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
	"github.com/opgen/opgen/runtime/profile"
)

// progress shows how training goes: a bar on a terminal, lines elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	epochs   int
	steps    int // of an epoch
	start    time.Time
	shown    time.Time
	samples  int
}

func newProgress(w io.Writer, epochs, steps int) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, terminal: ok && term.IsTerminal(int(f.Fd())), epochs: epochs, steps: steps, start: time.Now()}
}

// update is called after every step with the means of the epoch so far.
func (p *progress) update(epoch, step, batch int, loss, accuracy float64) {
	p.samples += batch
	last := step == p.steps
	rate := float64(p.samples) / time.Since(p.start).Seconds()
	text := fmt.Sprintf("epoch %2d/%d  loss %.4f  accuracy %.4f  %6.0f samples/s", epoch, p.epochs, loss, accuracy, rate)
	if !p.terminal {
		if last {
			fmt.Fprintln(p.w, text)
		}
		return
	}
	if !last && time.Since(p.shown) < 50*time.Millisecond {
		return
	}
	p.shown = time.Now()
	const width = 24
	done := ((epoch-1)*p.steps + step) * width / (p.epochs * p.steps)
	fmt.Fprintf(p.w, "\r[%s%s] %s", strings.Repeat("=", done), strings.Repeat(" ", width-done), text)
	if last && epoch == p.epochs {
		fmt.Fprintln(p.w)
	}
}

// writeConfusion prints how often each digit was classified as each.
func writeConfusion(w io.Writer, labels []int32, answers []int) {
	var counts [classes][classes]int
	for i, a := range answers {
		counts[labels[i]][a]++
	}
	fmt.Fprintln(w, "\nconfusion matrix (rows: the digit; columns: the answer)")
	fmt.Fprint(w, "    ")
	for c := range classes {
		fmt.Fprintf(w, "%4d", c)
	}
	fmt.Fprintln(w)
	for r := range classes {
		fmt.Fprintf(w, "%4d", r)
		for c := range classes {
			if n := counts[r][c]; n > 0 {
				fmt.Fprintf(w, "%4d", n)
			} else {
				fmt.Fprint(w, "   .")
			}
		}
		fmt.Fprintln(w)
	}
}

// writeTimes prints the time of each operator task, longest first.
func writeTimes(w io.Writer, timings []opgen.Timing) {
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

// writeSpread prints how long the tasks of a step took, and how much that varied.
func writeSpread(w io.Writer, tasks []profile.Task) {
	if len(tasks) == 0 {
		return // there were fewer steps than are left out for warming up
	}
	fmt.Fprintf(w, "\ntime by task, mean and spread of %d steps\n", tasks[0].Elapsed.Runs)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "task\tranges\tus\t+-\tus of all workers\t")
	micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 }
	for _, t := range tasks {
		fmt.Fprintf(tw, "%s\t%d\t%.1f\t%.1f\t%.1f\t\n", t.Label, t.Ranges, micros(t.Elapsed.Mean), micros(t.Elapsed.Spread), micros(t.Busy.Mean))
	}
	tw.Flush()
}

// writeMemory prints what the tensors took, with a training step's part.
func writeMemory(w io.Writer, m opgen.Usage, step *opgen.Program) {
	p := step.Plan()
	kib := func(n int64) float64 { return float64(n) / 1024 }
	fmt.Fprintf(w, "\npeak memory of tensors %.0f KiB: training plan %.0f (lower bound %.0f), variables %.0f, the rest a smaller last batch, testing and scratch\n",
		kib(m.Peak), kib(p.ArenaBytes), kib(p.LowerBound()), kib(p.VariableBytes()))
}
