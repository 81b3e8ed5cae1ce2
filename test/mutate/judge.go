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

// verdict says what became of a mutant: what noticed it, or "survived".
type verdict string

const survived verdict = "survived"

func (v verdict) killed() bool { return v != survived }

// judge runs tests on mutants. Its test programs hold all of them.
type judge struct {
	timeout          time.Duration
	kernels, conform string          // test programs
	operators        map[string]bool // that have a file of their own

	mu sync.Mutex
	// wide lists, for an operator, the tests that fail when only it is tested, whatever its kernel
	// does: they need other operators, too.
	wide map[string]string
}

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
			return nil, fmt.Errorf("the tests of %s fail without any mutation: %w\n%s", pkg, err, out)
		}
	}
	return j, nil
}

// writeOverlay writes files that take the place of others, and returns the file that go build takes as
// -overlay.
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

// judge tests mutant number i, from 1.
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

// patterns returns which tests to run for a file, as arguments of -test.run and -test.skip: of the
// operator whose file it is, or all.
func (j *judge) patterns(ctx context.Context, op string) [][]string {
	if !j.operators[op] {
		return [][]string{{"."}}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// Subtests are named after operators, or after attributes where a test is about one operator.
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

// test runs a test program in a folder with one mutant, with a pattern of tests and one of tests to skip.
func (j *judge) test(ctx context.Context, program, dir string, number int, patterns ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()
	args := []string{"-test.failfast", "-test.run", patterns[0]}
	if len(patterns) > 1 {
		args = append(args, "-test.skip", patterns[1])
	}
	return command(ctx, dir, number, program, args...)
}

// command runs a program with a mutant and returns what it prints.
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

// first returns the name of the first test that failed, or what else happened.
func first(out string) string {
	if m := failure.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	if strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") {
		return "a panic"
	}
	return "the time limit"
}
