package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
)

// verdict is the result for a mutant: the test that killed it, or survived.
type verdict string

const survived verdict = "survived"

func (v verdict) killed() bool { return !strings.HasPrefix(string(v), string(survived)) }

// judge runs tests on mutants. Its test programs contain all mutants.
type judge struct {
	timeout          time.Duration
	kernels, conform string          // test programs
	operators        map[string]bool // operators of the catalogue: each has its own file

	mu sync.Mutex
	// wide gives, for an operator, a pattern of tests that fail without a mutant if only this operator is
	// tested. They need other operators too. The pattern is empty if there are none.
	wide map[string]string
}

// newJudge compiles the test programs with the overlay. It returns an error if a test fails without a mutant.
func newJudge(ctx context.Context, dir string, timeout time.Duration, overlay map[string]string) (*judge, error) {
	j := &judge{timeout: timeout, kernels: filepath.Join(dir, "kernels.test"), conform: filepath.Join(dir, "conform.test"), operators: map[string]bool{}, wide: map[string]string{}}
	for _, op := range catalogue.Operators() {
		j.operators[op.Name] = true
	}
	file, err := writeOverlay(dir, overlay)
	if err != nil {
		return nil, err
	}
	for pkg, program := range map[string]string{"kernels": j.kernels, "runtime/conform": j.conform} {
		if out, err := command(ctx, "", 0, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", program, "./"+pkg); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		if out, err := j.test(ctx, program, pkg, 0, "."); err != nil {
			return nil, fmt.Errorf("want tests of %s that pass without a mutant: %w\n%s", pkg, err, out)
		}
	}
	return j, nil
}

// writeOverlay writes the texts of an overlay to files of a folder. Keys are the paths that the texts
// replace. It returns the file for the option -overlay of go build.
func writeOverlay(dir string, overlay map[string]string) (string, error) {
	replace := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(overlay)) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(overlay[path]), 0o666); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, data, 0o666)
}

// judge runs the tests with mutant m, whose number is i. Numbers begin at 1.
func (j *judge) judge(ctx context.Context, i int, m *mutant) (verdict, error) {
	op := strings.TrimSuffix(filepath.Base(m.file.path), ".go")
	for _, pattern := range j.patterns(ctx, op) {
		if out, err := j.test(ctx, j.kernels, "kernels", i, pattern...); err != nil {
			return verdict("killed by " + first(out)), ctx.Err()
		}
	}
	if out, err := j.test(ctx, j.conform, "runtime/conform", i, "."); err != nil {
		return verdict("killed by conformance, " + first(out)), ctx.Err()
	}
	return survived, ctx.Err()
}

// patterns selects the tests for a file, as arguments of -test.run and -test.skip for each run. They are the
// tests of the operator if the file belongs to one, else all tests.
func (j *judge) patterns(ctx context.Context, op string) [][]string {
	if !j.operators[op] {
		return [][]string{{"."}}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// The name of a subtest begins with the operator. In a test of one operator, it begins with the
	// attributes.
	narrow := fmt.Sprintf(`./^(%s($|[^_a-z0-9])|\{|&)`, op)
	wide, ok := j.wide[op]
	if !ok {
		var names []string
		skip := "^$"
		for {
			out, err := j.test(ctx, j.kernels, "kernels", 0, narrow, skip)
			name := strings.Fields(first(out))
			if err == nil || len(name) == 0 {
				break
			}
			names = append(names, strings.Split(name[0], "/")[0])
			skip = "^(" + strings.Join(names, "|") + ")$"
		}
		if len(names) > 0 {
			wide = skip
		}
		j.wide[op] = wide
	}
	if wide == "" {
		return [][]string{{narrow}}
	}
	return [][]string{{narrow, wide}, {wide}}
}

// test runs a test program in a folder with one mutant. The patterns select the tests to run and, if there
// are two, the tests to skip.
func (j *judge) test(ctx context.Context, program, dir string, number int, patterns ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()
	args := []string{"-test.failfast", "-test.run", patterns[0]}
	if len(patterns) > 1 {
		args = append(args, "-test.skip", patterns[1])
	}
	return command(ctx, dir, number, program, args...)
}

// command runs a program with a mutant and returns its output. Number 0 means no mutant.
func command(ctx context.Context, dir string, number int, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	return b.String(), err
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// first returns the name of the first test that failed. If there is none, it returns why the program ended.
func first(out string) string {
	if m := failure.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	if strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") {
		return "a panic"
	}
	return "the time limit"
}
