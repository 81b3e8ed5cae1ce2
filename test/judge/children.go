package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/opgen/opgen/internal/randomformula"
)

// request asks a child for a verdict about a formula: that of a number, or a given one.
type request struct {
	Number uint64              `json:"number"`
	Case   *randomformula.Case `json:"case,omitempty"`
}

// configuration is what a process reads from its environment.
type configuration struct {
	name, env string
	device    bool // on a GPU rather than the processor
}

// configurations lists the sets of instructions and the like in which each formula runs. The first one is
// judged by the oracle, and the others must give the same bits.
var configurations = []configuration{
	{name: "default"}, {name: "AVX2", env: "OPGEN_SIMD=avx2"}, {name: "no vectors", env: "OPGEN_SIMD=go"},
	{name: "no machine code", env: "OPGEN_JIT=off"}, {name: "small blocks", env: "OPGEN_BLOCKS=small"},
}

// onDevice is where formulas run on a GPU. The order of sums differs there, so the oracle alone judges.
var onDevice = []configuration{{name: "GPU", device: true}}

// caseOf returns the case of a number, of a kind if one is named.
func caseOf(kind string, seed, number uint64) *randomformula.Case {
	if kind != "" {
		return randomformula.OfKind(kind, seed, number)
	}
	return randomformula.New(seed, number)
}

// process is a child that judges formulas.
type process struct {
	configuration
	program string // "" is the one that runs
	seed    uint64
	plain   bool
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    *tail
}

// tail keeps the first part of what a process writes to standard error.
type tail struct {
	mu sync.Mutex
	bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Len() < 1<<16 {
		t.Buffer.Write(p)
	}
	return len(p), nil
}

// limit is how long a formula may take: some seconds, and much more where other processes keep the processors
// busy.
const limit = 5 * time.Minute

// start starts the process, unless it runs.
func (p *process) start() error {
	if p.cmd != nil {
		return nil
	}
	exe := p.program
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return err
		}
	}
	args := []string{"-child", "-seed", fmt.Sprint(p.seed)}
	if p.plain {
		args = append(args, "-plain")
	}
	if p.device {
		args = append(args, "-device")
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=2GiB", "GOMAXPROCS=2")
	if p.env != "" {
		cmd.Env = append(cmd.Env, p.env)
	}
	p.errs = &tail{}
	cmd.Stderr = p.errs
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	p.cmd = cmd
	return cmd.Start()
}

// stop ends the process.
func (p *process) stop() {
	if p.cmd != nil {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
	}
}

// ask returns the verdict about a formula. A process that ends, or takes too long, is a finding.
func (p *process) ask(q request) (*verdict, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	type answer struct {
		line []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		if _, err := p.in.Write(append(data, '\n')); err != nil {
			done <- answer{nil, err}
			return
		}
		line, err := p.out.ReadBytes('\n')
		done <- answer{line, err}
	}()
	select {
	case a := <-done:
		if a.err == nil {
			v := &verdict{}
			return v, json.Unmarshal(a.line, v)
		}
		p.cmd.Wait()
		message := crash(p.errs.String())
		p.cmd = nil
		return &verdict{Number: q.Number, Status: "crashed", Message: message}, nil
	case <-time.After(limit):
		p.stop()
		return &verdict{Number: q.Number, Status: "hung", Message: fmt.Sprintf("takes more than %v", limit)}, nil
	}
}

// crash returns what matters of the message of a process that ended: the error, and the first functions of
// this module.
func crash(text string) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(l, "panic:") || strings.HasPrefix(l, "fatal error:") || strings.Contains(l, "stack exceeds"):
			out = append(out, l)
		case strings.HasPrefix(l, "github.com/opgen/opgen/") && len(out) > 0 && len(out) < 5:
			l, _, _ = strings.Cut(strings.TrimPrefix(l, "github.com/opgen/opgen/"), "(0x")
			out = append(out, l)
		}
	}
	return strings.Join(out, "; ")
}

// options are what the command line says.
type options struct {
	formulas int
	kind     string // "" for formulas of all kinds
	seed     uint64
	from     uint64
	only     string
	shrink   bool
	where    []configuration
}

// ofKind returns the flag that names the kind, if there is one.
func (o options) ofKind() string {
	if o.kind == "" {
		return ""
	}
	return "-kind " + o.kind + " "
}

// block is how many formulas a process judges before another one goes on.
const block = 100

// progress is after how many formulas a line says how far the judge is.
const progress = 1000

// all judges formulas in all configurations, and lists what it finds.
func all(o options) error {
	began := time.Now()
	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	type job struct{ from, to uint64 }
	jobs := make(chan job)
	var mu sync.Mutex
	s := newSummary()
	var failure error
	var group sync.WaitGroup
	for range max(runtime.GOMAXPROCS(0), 1) {
		group.Add(1)
		go func() {
			defer group.Done()
			children := newChildren(o.where, o.seed)
			defer stopAll(children)
			for j := range jobs {
				for n := j.from; n < j.to; n++ {
					q := request{Number: n}
					if o.kind != "" {
						q.Case = caseOf(o.kind, o.seed, n)
					}
					v, err := judgeAll(children, q)
					mu.Lock()
					if err != nil && failure == nil {
						failure = err
					}
					before := s.judged() / progress
					if s.note(v, o.only) {
						fmt.Fprintf(os.Stderr, "judge: %s-seed %d -from %d (%s): %s: %s\n", o.ofKind(), o.seed, v.Number, v.Variant, v.Status, v.Message)
					}
					if s.judged()/progress > before {
						fmt.Fprintf(os.Stderr, "judge: %d of %d formulas after %.0f s, %d wrong\n", s.judged(), o.formulas,
							time.Since(began).Seconds(), s.wrong())
					}
					mu.Unlock()
				}
			}
		}()
	}
	for n := 0; n < o.formulas && stop.Err() == nil; n += block { // after an interrupt, what was judged is printed
		jobs <- job{o.from + uint64(n), o.from + uint64(min(n+block, o.formulas))}
	}
	close(jobs)
	group.Wait()
	if failure != nil {
		return failure
	}
	s.print(os.Stdout, o, time.Since(began))
	if n := s.status["right"]; o.kind != "" && n < o.formulas/3 {
		return fmt.Errorf("want a third of %d formulas of the kind %s to be judged, got %d", o.formulas, o.kind, n)
	}
	if s.wrong() > 0 {
		return fmt.Errorf("%d of %d formulas are wrong, fail or end their process", s.wrong(), s.judged())
	}
	return nil
}

// newChildren returns a process for each configuration.
func newChildren(where []configuration, seed uint64) []*process {
	var out []*process
	for i, c := range where {
		out = append(out, &process{configuration: c, seed: seed, plain: i > 0})
	}
	return out
}

func stopAll(children []*process) {
	for _, p := range children {
		p.stop()
	}
}

// judgeAll judges a formula in all configurations.
func judgeAll(children []*process, q request) (*verdict, error) {
	var first *verdict
	for i, p := range children {
		v, err := p.ask(q)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if first = v; v.Status != "right" && v.Status != "unjudged" {
				return v, nil
			}
			q.Case, first.Case = first.Case, nil
			continue
		}
		if v.Status != "right" && v.Status != "unjudged" {
			v.Variant = p.name + " " + v.Variant
			v.Features = first.Features
			return v, nil
		}
		if v.Bits != first.Bits {
			first.Status, first.Variant, first.Message = "wrong", p.name, "other bits than by default"
			return first, nil
		}
	}
	return first, nil
}

// summary counts verdicts.
type summary struct {
	status   map[string]int
	drawn    map[string]int // features
	run      map[string]int // features of formulas that were run
	refusals map[string]int
	findings []*verdict
	compared int
}

func newSummary() *summary {
	return &summary{status: map[string]int{}, drawn: map[string]int{}, run: map[string]int{}, refusals: map[string]int{}}
}

// bad lists the findings among the statuses.
var bad = []string{"wrong", "failed", "crashed", "hung", "oracle"}

// note counts a verdict, and reports whether it is a finding.
func (s *summary) note(v *verdict, only string) bool {
	if v == nil {
		return false
	}
	s.status[v.Status]++
	s.compared += v.Compared
	for _, f := range v.Features {
		s.drawn[f]++
		if v.Status != "refused" && v.Status != "beyond" {
			s.run[f]++
		}
	}
	if v.Status == "refused" || v.Status == "beyond" {
		s.refusals[kindOf(v.Message)]++
	}
	if slices.Contains(bad, v.Status) && strings.HasPrefix(v.Status, only) {
		s.findings = append(s.findings, v)
		return true
	}
	return false
}

func (s *summary) wrong() int { return len(s.findings) }

func (s *summary) judged() int {
	n := 0
	for status, k := range s.status {
		if status != "refused" && status != "beyond" {
			n += k
		}
	}
	return n
}

// kindOf returns a message without what differs from formula to formula.
func kindOf(message string) string {
	words := strings.Fields(message)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789'[](") || len(w) < 3 {
			words[i] = "_"
		}
	}
	return strings.Join(words[:min(len(words), 9)], " ")
}

// print writes what was found, and what was drawn.
func (s *summary) print(w io.Writer, o options, took time.Duration) {
	slices.SortFunc(s.findings, func(a, b *verdict) int { return int(int64(a.Number) - int64(b.Number)) })
	kinds := map[string][]*verdict{}
	for _, v := range s.findings {
		k := v.Status + ": " + kindOf(v.Message)
		kinds[k] = append(kinds[k], v)
	}
	names := slices.Collect(maps.Keys(kinds))
	slices.SortFunc(names, func(a, b string) int { return len(kinds[b]) - len(kinds[a]) })
	for _, k := range names {
		fmt.Fprintf(w, "\n%d x %s\n", len(kinds[k]), k)
		for _, v := range kinds[k][:min(3, len(kinds[k]))] {
			report(w, o, v)
		}
	}
	fmt.Fprintf(w, "\n%sseed %d, formulas %d to %d: %v in %.0f s; %d elements compared\n", strings.ReplaceAll(o.ofKind(), "-", ""), o.seed, o.from, o.from+uint64(o.formulas), s.status, took.Seconds(), s.compared)
	for _, f := range slices.Sorted(maps.Keys(s.drawn)) {
		fmt.Fprintf(w, "  %-45s %6d of %6d drawn\n", f, s.run[f], s.drawn[f])
	}
	reasons := slices.Collect(maps.Keys(s.refusals))
	slices.SortFunc(reasons, func(a, b string) int { return s.refusals[b] - s.refusals[a] })
	for _, r := range reasons[:min(8, len(reasons))] {
		fmt.Fprintf(w, "  refused %6d: %s\n", s.refusals[r], r)
	}
}

// report writes a finding.
func report(w io.Writer, o options, v *verdict) {
	c := caseOf(o.kind, o.seed, v.Number)
	message := v.Message
	if o.shrink {
		c, message = smaller(o.where, o.seed, c, v)
	}
	fmt.Fprintf(w, "  %s-seed %d -from %d (%s): %s\n    extents %v, %s, attributes %s, few values %v\n    %s\n", o.ofKind(), o.seed, v.Number, v.Variant, message, c.Dims, c.Type, c.Attrs, c.Few,
		strings.Join(c.Lines, "\n    "))
}
