package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/opgen/opgen/test/outside"
)

// enoughOfKit is the share of mutants that package optest must kill.
const enoughOfKit = 0.95

// runKit judges package optest by mutants of the kernels of test/cookbook, a module outside of the tree whose
// only test is that of the package. It returns the exit status.
func runKit(ctx context.Context, o options, w io.Writer) (int, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	m, err := outside.Make(ctx, filepath.Join(dir, "module"), "example.com/cookbook", "test/cookbook/testdata", ".")
	if err != nil {
		return 0, err
	}
	sources, err := loadIn(m.Dir, m.Env(), "./kernels")
	if err != nil {
		return 0, err
	}
	src := sources[0]
	mutants, err := src.choose(o.seed, o.n, src.all(o.only, true))
	if err != nil {
		return 0, err
	}
	if len(mutants) == 0 {
		return 0, fmt.Errorf("want files in test/cookbook/testdata/kernels that match -only and can be mutated, got none for %q", o.only)
	}
	overlay, err := writeOverlay(dir, src.overlay(mutants, 1))
	if err != nil {
		return 0, err
	}
	program := filepath.Join(dir, "kernels.test")
	if _, err := m.Go(ctx, "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "./kernels"); err != nil {
		return 0, err
	}
	folder := filepath.Join(m.Dir, "kernels")
	start := time.Now()
	if out, err := kitTest(ctx, program, folder, 10*time.Minute, 0, "."); err != nil {
		return 0, fmt.Errorf("want tests that pass without a mutant: %w\n%s", err, out)
	}
	limit := 20*time.Second + 5*time.Since(start)
	verdicts := make([]verdict, len(mutants))
	var print sync.Mutex
	err = inParallel(ctx, o.parallel, len(mutants), func(i int) error {
		operator := strings.TrimSuffix(filepath.Base(mutants[i].file.path), ".go") // each has a file of its own
		out, err := kitTest(ctx, program, folder, limit, i+1, "^TestOperators$/./^"+operator+"$")
		verdicts[i] = survived
		if err != nil {
			verdicts[i] = verdict("killed by " + first(lastFailures(out)))
		}
		print.Lock()
		defer print.Unlock()
		fmt.Fprintf(w, "%v: %v\n", &mutants[i], verdicts[i])
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	return summarize(w, mutants, verdicts, enoughOfKit), nil
}

// kitTest runs the test program with one mutant; number 0 means none. A mutant that asks for memory without
// end gets 16 GiB of addresses.
func kitTest(ctx context.Context, program, dir string, limit time.Duration, number int, pattern string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 16777216; exec "$0" "$@"`, program, "-test.failfast", "-test.run", pattern)
	c.Dir = dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return string(out), errors.Join(err, ctx.Err())
}

// lastFailures returns the output from the first failure of a check on.
func lastFailures(out string) string {
	if at := strings.Index(out, "    --- FAIL: "); at >= 0 {
		return out[at:]
	}
	return out
}
