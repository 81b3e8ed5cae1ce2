package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// check runs the steps of the check.
type check struct {
	dir      string // of the programs
	report   string
	logs     string // the folder for what steps print; "" for none
	emulator string // the folder of an emulator; "" for a GPU
	sources  string // the folder to which sources of device code are written; "" for none
	quick    bool
	limit    time.Duration
	out      io.Writer

	work    string // a folder for what steps write
	device  device
	results []result
	figures []figure // of this module
	torch   []figure
}

// device is what the program gpubench says about the GPU.
type device struct {
	Name   string `json:"name"`
	Arch   string `json:"arch"`
	Memory int64  `json:"memory"`
	Driver int    `json:"driver"`
}

// figure is what a use of an operator takes, as the program gpubench prints it.
type figure struct {
	Group   string  `json:"group"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes"`
	Flops   float64 `json:"flops"`
}

// step is a part of the check.
type step struct {
	name    string
	program string // in the folder bin, or a path
	args    []string
	env     []string
	limit   time.Duration
	absent  string // why it is left out; "" if it is not
	// judge looks at what the program printed, and returns a note for the table. nil takes the last line.
	judge func(printed []byte) (note string, err error)
}

// result is what came of a step.
type result struct {
	step  string
	state state
	took  time.Duration
	note  string
}

type state string

const (
	passed  state = "passed"
	failed  state = "FAILED"
	leftOut state = "left out"
)

var errFailed = errors.New("the check failed")

// run runs all steps. Its error says that one failed.
func (c *check) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	if c.work, err = os.MkdirTemp("", "gpu-check"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.work)) }()
	for _, s := range c.steps() {
		r := c.step(ctx, &s)
		c.results = append(c.results, r)
		err = os.WriteFile(c.report, []byte(c.text()), 0o666) // after each step, so that what ends a machine's time leaves one
		fmt.Fprintf(c.out, "%-32s %-8s %5.1f s  %s\n", r.step, r.state, r.took.Seconds(), firstLine(r.note))
	}
	fmt.Fprintf(c.out, "\n%s", c.text())
	for _, r := range c.results {
		if r.state == failed {
			return errors.Join(errFailed, err)
		}
	}
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// step runs a step.
func (c *check) step(ctx context.Context, s *step) (r result) {
	r = result{step: s.name, state: leftOut, note: s.absent}
	if s.absent != "" {
		return r
	}
	limit := s.limit
	if c.emulator != "" {
		limit = c.limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	path := s.program
	if !strings.ContainsRune(path, filepath.Separator) {
		path = filepath.Join(c.dir, "bin", path)
	}
	var printed, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, path, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.work, &printed, &complaints
	cmd.Env = append(append(os.Environ(), c.environment()...), s.env...)
	cmd.WaitDelay = 5 * time.Second
	begin := time.Now()
	err := cmd.Run()
	r.took = time.Since(begin)
	if c.logs != "" {
		err = errors.Join(err, c.log(s.name, printed.Bytes(), complaints.Bytes()))
	}
	if err == nil {
		judge := s.judge
		if judge == nil {
			judge = lastLine
		}
		r.note, err = judge(printed.Bytes())
	} else if ctx.Err() != nil {
		err = fmt.Errorf("it took longer than %v, or was interrupted: %w", limit, err)
	}
	r.state = passed
	if absent := (*absentError)(nil); errors.As(err, &absent) {
		r.state, r.note = leftOut, absent.reason
	} else if err != nil {
		r.state, r.note = failed, fmt.Sprintf("%v\n%s\n%s", err, end(printed.Bytes()), end(complaints.Bytes()))
	}
	return r
}

// log writes all that a step printed and complained about.
func (c *check) log(step string, printed, complaints []byte) error {
	name := filepath.Join(c.logs, strings.ReplaceAll(step, " ", "-"))
	return errors.Join(os.MkdirAll(c.logs, 0o777), os.WriteFile(name+".out", printed, 0o666), os.WriteFile(name+".err", complaints, 0o666))
}

// absentError says that what a step needs is not there.
type absentError struct{ reason string }

func (e *absentError) Error() string { return e.reason }

// end returns the last lines of a text.
func end(text []byte) string {
	const most = 3000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

func lastLine(printed []byte) (string, error) {
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	return lines[len(lines)-1], nil
}

// environment is that of all steps: the driver, and where device code comes from.
func (c *check) environment() []string {
	cache := filepath.Join(c.work, "cache")
	if given := os.Getenv("OPGEN_CUDA_CACHE"); c.quick && given != "" { // which other tests with the emulator have filled
		cache = given
	}
	env := []string{"OPGEN_CUDA_CACHE=" + cache, "OPGEN_CUDA_AHEAD=" + filepath.Join(c.dir, "ahead")}
	if c.sources != "" {
		env = append(env, "OPGEN_CUDA_SOURCES="+c.sources)
	}
	if c.emulator == "" {
		return append(env, "OPGEN_LIBCUDA="+libcuda())
	}
	return append(env, "OPGEN_CUDA_AHEAD=", "OPGEN_LIBCUDA="+filepath.Join(c.emulator, "libcuda.so.1"), "OPGEN_LIBCUBLAS="+filepath.Join(c.emulator, "libcublas.so.12"),
		"OPGEN_CUDA_COMPILER="+filepath.Join(c.emulator, "compile.sh")+" {in} {out}",
		"OPGEN_EMULATOR_MEMORY=17179869184")
}

// libcuda is the driver: test programs that know no driver would build an emulator.
func libcuda() string {
	if v := os.Getenv("OPGEN_LIBCUDA"); v != "" {
		return v
	}
	return "libcuda.so.1"
}

// steps lists the steps. The first one says which device there is, and later ones depend on it.
func (c *check) steps() []step {
	tests := "^(TestBackend|TestHalves|TestLaunch|TestGroup|TestTiles|TestFault|TestCanceled|TestMemoryOfDevice|TestLarge.*)$"
	conformance := []string{"-engine", "cuda", filepath.Join(c.dir, "cases")}
	measure := []string{"measure"}
	if c.quick {
		tests = "^(TestBackend|TestHalves|TestLaunch|TestGroup|TestTiles)$/^(Builtins|Training|Determinism|Devices|AllReduce)?$"
		conformance = append([]string{"-op", "softmax,linear,conv_2d,topk,cumsum,embedding"}, conformance...)
		measure = append(measure, "-quick")
	}
	if c.sources != "" {
		measure = append(measure, "-load")
	}
	twice := []string{"OPGEN_CUDA_DEVICES=0,0", "OPGEN_CUDA_ORDER=forward"} // a machine with one GPU has two devices, too
	list := []step{
		{name: "device", program: "gpubench", args: []string{"device"}, limit: time.Minute, judge: c.describe},
		{name: "conformance", program: "opconform", args: conformance, limit: 3 * time.Minute},
	}
	list = append(list, c.examples()...)
	list = append(list, step{name: "measurements", program: "gpubench", args: measure, limit: 2 * time.Minute, judge: c.measured(&c.figures)},
		step{name: "products of device code", program: "gpubench", args: append(slices.Clip(measure), "-groups", "product", "-suffix", ", device code"), env: []string{"OPGEN_LIBCUBLAS=none"},
			limit: time.Minute, judge: c.measured(&c.figures)},
		step{name: "launches without graphs", program: "gpubench", args: append(slices.Clip(measure), "-groups", "launch", "-suffix", ", without graphs"), env: []string{"OPGEN_CUDA_GRAPHS=none"},
			limit: time.Minute, judge: c.measured(&c.figures)},
		step{name: "networks of device code", program: "gpubench", args: append(slices.Clip(measure), "-groups", "network", "-suffix", ", device code"), env: []string{"OPGEN_LIBCUBLAS=none"},
			limit: time.Minute, judge: c.measured(&c.figures)},
		step{name: "networks as one kernel", program: "gpubench", args: append(slices.Clip(measure), "-groups", "launch,network", "-suffix", ", one kernel"), env: []string{"OPGEN_LIBCUBLAS=none", oneKernel},
			limit: time.Minute, judge: c.measured(&c.figures)},
		step{name: "PyTorch", program: python(), args: []string{filepath.Join(c.dir, "peers", "peers.py")}, limit: time.Minute, judge: c.measured(&c.torch), absent: c.absent(python(), "python3")})
	list = append(append(list, c.tools()...), c.formulas())
	return append(list, step{name: "tests of engines", program: "cuda.test", args: []string{"-test.run", tests}, env: twice, limit: 4 * time.Minute}) // the longest
}

// tools are the steps that need what a machine may lack: a compiler of device code, and compute-sanitizer.
func (c *check) tools() []step {
	sanitizer, _ := exec.LookPath("compute-sanitizer")
	var list []step
	for _, tool := range []string{"memcheck", "racecheck"} {
		list = append(list, step{name: "compute-sanitizer " + tool, program: sanitizer, limit: 90 * time.Second, absent: c.absent(sanitizer, "compute-sanitizer"),
			args: []string{"--tool", tool, "--error-exitcode", "9", filepath.Join(c.dir, "bin", "opconform"), "-engine", "cuda", "-op", "softmax,linear", filepath.Join(c.dir, "cases")}})
	}
	return append(list, step{name: "code of the run-time compiler", program: "opconform", limit: time.Minute,
		args: []string{"-engine", "cuda", "-op", "softmax,linear,layer_norm", filepath.Join(c.dir, "cases")}, env: []string{"OPGEN_CUDA_AHEAD="},
		absent: c.absent(c.nvrtc(), "NVRTC")})
}

// formulas is the step that judges random formulas. The run-time compiler makes their device code, since
// carrying it would take more than all else.
func (c *check) formulas() step {
	s := step{name: "random formulas", program: "judge", limit: 2 * time.Minute, judge: judged, env: []string{"OPGEN_CUDA_AHEAD=", "OPGEN_CUDA_SOURCES="},
		args: []string{"-device", "-shrink=false", "-seed", "1", "-formulas"}}
	switch {
	case c.quick:
		s.args = append(s.args, "24")
	case c.emulator != "":
		s.absent = "no code of theirs is carried"
	default:
		s.args, s.absent = append(s.args, "400"), c.absent(c.nvrtc(), "NVRTC")
	}
	return s
}

// judged returns the line with counts of what the judge printed.
func judged(printed []byte) (string, error) {
	for _, line := range strings.Split(string(printed), "\n") {
		if strings.HasPrefix(line, "seed ") {
			return line, nil
		}
	}
	return "", errors.New("the judge printed no counts")
}

// absent says why a step is left out that needs a program of the machine and a GPU; "" if it is not.
func (c *check) absent(path, name string) string {
	switch {
	case c.emulator != "":
		return "the emulator is no GPU"
	case path == "":
		return "there is no " + name
	}
	return ""
}

// nvrtc returns the version of the library that compiles device code; "" if the machine has none.
func (c *check) nvrtc() string {
	version, err := exec.Command(filepath.Join(c.dir, "bin", "compile")).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(version))
}

func python() string {
	path, _ := exec.LookPath("python3")
	return path
}

// describe notes the device.
func (c *check) describe(printed []byte) (string, error) {
	if err := json.Unmarshal(printed, &c.device); err != nil {
		return "", err
	}
	d := &c.device
	return fmt.Sprintf("%s, %s, %d MiB, driver for CUDA %d.%d", d.Name, d.Arch, d.Memory>>20, d.Driver/1000, d.Driver%1000/10), nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// measured notes figures.
func (c *check) measured(to *[]figure) func([]byte) (string, error) {
	return func(printed []byte) (string, error) {
		for d := json.NewDecoder(bytes.NewReader(printed)); d.More(); {
			var f figure
			if err := d.Decode(&f); err != nil {
				return "", err
			}
			if f.Group == "absent" {
				return "", &absentError{f.Name}
			}
			*to = append(*to, f)
		}
		return fmt.Sprintf("%d figures", len(*to)), nil
	}
}

// host describes the machine.
func host() string {
	return fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
