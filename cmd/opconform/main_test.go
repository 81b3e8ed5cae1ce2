package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/safetensors"
)

const cases = "../../runtime/conform/testdata"

// opconform runs the program and returns its exit status and what it prints, line by line.
func opconform(t *testing.T, args ...string) (status int, stdout []string, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), errs.String()
}

// full is a disk without any space.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFullOutput checks that the status is 2 if the output is lost, whatever is printed.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-op", "flat", cases}, {"-op", "flat", "-v", cases}, {"-json", cases}} {
		var errs bytes.Buffer
		if status := command(t.Context(), args, full{}, &errs); status != 2 || !strings.Contains(errs.String(), errFull.Error()) {
			t.Errorf("%v: status %d, %s, want 2 and the error", args, status, &errs)
		}
	}
}

func last(lines []string) string { return lines[len(lines)-1] }

// TestPass runs cases of two operators, with flags before and after the folder.
func TestPass(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-op", "flat,softmax", cases},
		{cases, "--op=flat,softmax"},
		{"-engine", "checked", cases, "-op", "flat,softmax"},
		{"--engine", "cpu", cases, "-op", "flat,softmax", "--dtype", "float64", "-workers", "2"},
	} {
		status, out, errs := opconform(t, args...)
		if status != 0 || last(out) != "24 passed, 0 failed, 0 skipped" || errs != "" {
			t.Errorf("%v: status %d, %q, %s", args, status, out, errs)
		}
	}
	_, out, _ := opconform(t, "-v", "-op", "flat", cases)
	if !slices.Contains(out, "pass ops/torch/flat/"+firstCase(t, "torch/flat")) || len(out) < 10 {
		t.Errorf("-v prints %q", out)
	}
}

// firstCase returns the name of the first case in a folder.
func firstCase(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cases, "ops", folder, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", folder, err)
	}
	return strings.TrimSuffix(filepath.Base(files[0]), ".safetensors")
}

// TestGroups checks the counts of each group of cases, and of scenarios.
func TestGroups(t *testing.T) {
	t.Parallel()
	status, out, errs := opconform(t, cases)
	want := []string{"core: 369 passed, 0 failed, 0 skipped", "ext: 23 passed, 0 failed, 0 skipped", "edge: 28 passed, 0 failed, 0 skipped", "signature: 137 passed, 0 failed, 0 skipped", "557 passed, 0 failed, 0 skipped"}
	if status != 0 || !slices.Equal(out, want) || errs != "" {
		t.Errorf("status %d, %q, %s; want %q", status, out, errs, want)
	}
}

// broken makes a folder with one case of linear, whose metadata and tensors are changed.
func broken(t *testing.T, change func(*safetensors.File)) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cases, "ops/torch/linear/4d.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	change(f)
	if data, err = f.Encode(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "case.safetensors"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFail runs cases that fail and that are not supported.
func TestFail(t *testing.T) {
	t.Parallel()
	dir := broken(t, func(f *safetensors.File) { f.Tensors["out.output"] = f.Tensors["grad_out.output"] })
	status, out, _ := opconform(t, dir)
	if status != 1 || last(out) != "0 passed, 1 failed, 0 skipped" || !strings.HasPrefix(out[0], "FAIL case: out.output: ") {
		t.Errorf("a wrong output: status %d, %q", status, out)
	}
	dir = broken(t, func(f *safetensors.File) { f.Metadata["op"] = "no_operator" })
	status, out, _ = opconform(t, dir)
	if status != 0 || last(out) != "0 passed, 0 failed, 1 skipped" || out[0] != "skip case: no operator no_operator" {
		t.Errorf("an unknown operator: status %d, %q", status, out)
	}
	scenario := `{"format": 1, "topic": "x", "scenarios": [{"id": "x-1", "task": "t", "signature": {"inputs": -1}, "expect": {"stage": "register", "result": "ok"}}]}`
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, _ = opconform(t, dir)
	if status != 1 || last(out) != "0 passed, 1 failed, 0 skipped" || !strings.HasPrefix(out[0], "FAIL x-1: want ok at register, got bad-count at declare") {
		t.Errorf("a wrong scenario: status %d, %q", status, out)
	}
}

// TestAnswers writes what was computed for a case that holds nothing to compare with.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := broken(t, func(f *safetensors.File) {
		for name := range f.Tensors {
			if strings.HasPrefix(name, "out.") || strings.HasPrefix(name, "grad_in.") || strings.HasPrefix(name, "grad_weight.") {
				delete(f.Tensors, name)
			}
		}
	})
	answers := t.TempDir()
	if status, out, errs := opconform(t, dir, "--answers", answers); status != 0 || last(out) != "0 passed, 0 failed, 1 skipped" {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
	data, err := os.ReadFile(filepath.Join(answers, "case.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out.output", "grad_in.input", "grad_weight.weight", "grad_weight.bias"} {
		if len(f.Tensors[name].Shape) == 0 {
			t.Errorf("no %s among the answers", name)
		}
	}
}

// TestJSON prints an outcome for each scenario and nothing else.
func TestJSON(t *testing.T) {
	t.Parallel()
	status, out, errs := opconform(t, "--json", cases)
	if status != 0 || len(out) != 137 || errs != "" {
		t.Fatalf("status %d, %d lines, %s", status, len(out), errs)
	}
	for _, line := range out {
		var o struct{ ID, Stage, Result string }
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.ID == "" || o.Stage == "" || o.Result == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"usage: opconform [flags] DIR":                              {},
		"usage: opconform [flags] DIR\n":                            {cases, cases},
		`there is no engine "moon"; engines are checked, cpu, cuda`: {"-engine", "moon", cases},
		`--dtype: want float32 or float64, got "int8"`:              {"-dtype", "int8", cases},
		"no cases in " + cases:                                      {"-op", "no_operator", cases},
		"flag provided but not defined: -fast":                      {cases, "-fast"},
		"no such file or directory":                                 {"nowhere"},
	} {
		status, _, errs := opconform(t, args...)
		if status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %q, want %q", args, status, errs, want)
		}
	}
}
