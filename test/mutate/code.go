package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// codePackages lists the packages of the generator and of the runtime.
var codePackages = []string{"./cmd/opgen", "./internal/...", "./runtime/..."}

// helpers lists packages among them that only tests and measurements use.
var helpers = []string{"/internal/base/english", "/internal/exportdata", "/enginetest", "/internal/peers", "/internal/schedbench"}

// variableReached names the environment variable with the file to which test programs write the numbers of
// the mutants whose functions run. The number of the first mutant of a function stands for all of the
// function.
const variableReached = "OPGEN_MUTANTS_REACHED"

// reaching declares a function that returns the number of the mutant that runs, as the variable chooser. It
// also writes which functions run. It has place for as many mutants as the number says.
const reaching = `package %%s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	` + chooser + `Number, _ = strconv.Atoi(os.Getenv("` + variable + `"))
	` + chooser + `File    = os.Getenv("` + variableReached + `")
	` + chooser + `Seen    [%d]atomic.Bool // no map, since tests count what is allocated
)

func ` + chooser + `(first int) int {
	if ` + chooser + `File != "" {
		if !` + chooser + `Seen[first].Swap(true) {
			if f, err := os.OpenFile(` + chooser + `File, os.O_WRONLY|os.O_APPEND, 0); err == nil {
				f.WriteString(strconv.Itoa(first) + "\n")
				f.Close()
			}
		}
	}
	return ` + chooser + `Number
}
`

// runCode judges the tests of the generator and of the runtime. It returns the exit status.
func runCode(ctx context.Context, o options, w io.Writer) (int, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// A mutant of what writes files may write anywhere in the module, so a copy is mutated.
	root := filepath.Join(dir, "module")
	if err := copyModule(ctx, root); err != nil {
		return 0, err
	}
	if err := os.Chdir(root); err != nil {
		return 0, err
	}
	sources, err := codeSources(ctx, o)
	if err != nil {
		return 0, err
	}
	overlay := map[string]string{}
	var mutants []mutant
	first := map[int]int{} // for each mutant, the first one of its function
	for i, n := range shares(o, sources) {
		s := sources[i]
		chosen, err := s.choose(o.seed, n, s.all(o.only, true))
		if err != nil {
			return 0, err
		}
		if len(chosen) == 0 {
			continue
		}
		number := len(mutants) + 1
		maps.Copy(overlay, s.chosenBy(chosen, number, func(first int) string { return fmt.Sprintf("%s(%d)", chooser, first) }, fmt.Sprintf(reaching, o.n+1)))
		for k, m := range chosen {
			same := slices.IndexFunc(chosen, func(x mutant) bool { return x.file == m.file && x.function == m.function })
			first[number+k] = number + same
		}
		mutants = append(mutants, chosen...)
	}
	if len(mutants) == 0 {
		return 0, fmt.Errorf("want files that match -only and can be mutated, got none for %q", o.only)
	}
	j, err := newCodeJudge(ctx, dir, o, overlay, w)
	if err != nil {
		return 0, err
	}
	verdicts := make([]verdict, len(mutants))
	var print sync.Mutex
	order := rand.New(rand.NewPCG(o.seed, 1)).Perm(len(mutants)) // so that the first verdicts are a sample of all
	err = inParallel(ctx, o.parallel, len(mutants), func(k int) error {
		i, err := order[k], error(nil)
		verdicts[i], err = j.judge(ctx, i+1, first[i+1], filepath.Dir(mutants[i].file.path))
		print.Lock()
		defer print.Unlock()
		fmt.Fprintf(w, "%v: %v\n", &mutants[i], verdicts[i])
		return err
	})
	if err != nil {
		return 0, err
	}
	return summarize(w, mutants, verdicts, enough), nil
}

// copyModule copies the files of the module that git does not ignore to a folder.
func copyModule(ctx context.Context, to string) error {
	list, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("the files of the module: %w", err)
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		} else if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(path)), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, path), text, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// codeSources reads the packages of the generator and of the runtime that o selects.
func codeSources(ctx context.Context, o options) ([]*source, error) {
	out, err := goCommand(ctx, append([]string{"list", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}"}, codePackages...)...)
	if err != nil {
		return nil, err
	}
	paths := slices.DeleteFunc(strings.Fields(out), func(path string) bool {
		return !o.packages.MatchString(path) || slices.ContainsFunc(helpers, func(h string) bool { return strings.HasSuffix(path, h) })
	})
	if len(paths) == 0 {
		return nil, fmt.Errorf("want packages of the generator or of the runtime that match -packages, got none for %q", o.packages)
	}
	return load(paths...)
}

// shares returns how many mutants each package gets: a part of o.n that is proportional to its lines.
func shares(o options, sources []*source) []int {
	lines := make([]int, len(sources)+1) // of the packages before
	for i, s := range sources {
		lines[i+1] = lines[i]
		for _, f := range s.files {
			if o.only.MatchString(filepath.Base(f.path)) {
				lines[i+1] += bytes.Count(f.text, []byte("\n"))
			}
		}
	}
	out := make([]int, len(sources))
	total := max(lines[len(sources)], 1)
	for i := range out {
		out[i] = o.n*lines[i+1]/total - o.n*lines[i]/total
	}
	return out
}

// inParallel calls f for the numbers below n, several at a time. It stops at the first error.
func inParallel(ctx context.Context, workers, n int, f func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range work {
				if err := f(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// goCommand runs the go command and returns its output.
func goCommand(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, &stderr)
	}
	return string(out), nil
}

// testProgram is the test program of a package.
type testProgram struct {
	dir, path string
	limit     time.Duration // that it may take without a mutant
	time      time.Duration // that it takes without a mutant
	reached   map[int]bool  // the first mutants of the functions that it runs
}

// codeJudge runs tests on mutants of any package. Its test programs contain all mutants.
type codeJudge struct {
	programs []testProgram // the fastest first
}

// newCodeJudge compiles the test programs with the overlay, and runs each without a mutant. It returns an
// error if a test fails. Programs of packages without mutants that take longer than o.within are left out.
func newCodeJudge(ctx context.Context, dir string, o options, overlay map[string]string, w io.Writer) (*codeJudge, error) {
	file, err := writeOverlay(dir, overlay)
	if err != nil {
		return nil, err
	}
	list, err := goCommand(ctx, "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	mutated := map[string]bool{}
	for path := range overlay {
		mutated[filepath.Dir(path)] = true
	}
	dirs := slices.DeleteFunc(strings.Fields(list), func(dir string) bool { return !mutated[dir] && !o.tests.MatchString(dir) })
	j := &codeJudge{programs: make([]testProgram, len(dirs))}
	err = inParallel(ctx, o.parallel, len(dirs), func(i int) error {
		p := &j.programs[i]
		*p = testProgram{dir: dirs[i], path: filepath.Join(dir, strconv.Itoa(i)+".test"), limit: 10 * time.Minute}
		if o.within > 0 && !mutated[p.dir] {
			p.limit = o.within
		}
		if _, err := goCommand(ctx, "test", "-c", "-vet=off", "-overlay", file, "-o", p.path, p.dir); err != nil {
			return err
		}
		err := p.baseline(ctx, filepath.Join(dir, strconv.Itoa(i)+".reached"))
		if errors.Is(err, context.DeadlineExceeded) && !mutated[p.dir] {
			fmt.Fprintf(w, "tests of %s take longer than %v and are left out\n", filepath.Base(p.dir), p.limit)
			return nil
		}
		fmt.Fprintf(w, "tests of %s: %.1f s, %d functions with mutants\n", filepath.Base(p.dir), p.time.Seconds(), len(p.reached))
		return err
	})
	slices.SortFunc(j.programs, func(a, b testProgram) int { return int(a.time - b.time) })
	return j, err
}

// baseline runs the tests without a mutant. It takes the time, and reads to the file which functions run.
func (p *testProgram) baseline(ctx context.Context, file string) error {
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		return err
	}
	start := time.Now()
	if out, err := p.run(ctx, p.limit, 0, variableReached+"="+file); errors.Is(err, context.DeadlineExceeded) {
		return err
	} else if err != nil {
		return fmt.Errorf("want tests of %s that pass without a mutant: %w\n%s", p.dir, err, out)
	}
	p.time = time.Since(start)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p.reached = map[int]bool{}
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		p.reached[n] = true
	}
	return nil
}

// run runs the tests with one mutant, and returns their output. The error is context.DeadlineExceeded if they
// take too long. A mutant that asks for memory without end gets 16 GiB of addresses.
func (p *testProgram) run(ctx context.Context, limit time.Duration, number int, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 16777216; exec "$0" -test.failfast`, p.path)
	c.Dir = p.dir
	c.Env = append(os.Environ(), append(env, fmt.Sprintf("%s=%d", variable, number))...)
	c.WaitDelay = time.Second
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	if err := c.Run(); ctx.Err() == nil {
		return b.String(), err
	}
	return b.String(), ctx.Err()
}

// judge runs the tests that reach the function of a mutant, whose number is i: first those of its own
// package, in the given folder, then the faster ones. function is the number of the first mutant of the
// function.
func (j *codeJudge) judge(ctx context.Context, i, function int, dir string) (verdict, error) {
	var programs []testProgram
	for _, p := range j.programs {
		if p.reached[function] {
			programs = append(programs, p)
		}
	}
	slices.SortStableFunc(programs, func(a, b testProgram) int {
		switch dir {
		case a.dir:
			return -1
		case b.dir:
			return 1
		}
		return 0
	})
	for _, p := range programs {
		out, err := p.run(ctx, 20*time.Second+5*p.time, i)
		if ctx.Err() != nil {
			return survived, ctx.Err()
		}
		if err != nil {
			return verdict("killed by " + filepath.Base(p.dir) + ", " + first(out)), nil
		}
	}
	if len(programs) == 0 {
		return survived + ", since no test runs it", nil
	}
	return survived, nil
}
