package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/safetensors"
)

// TestMinimal makes a failure smaller: a number that fails if it is 7 or more.
func TestMinimal(t *testing.T) {
	asked := 0
	smaller := func(f failure) (out []failure, err error) {
		asked++
		n := len(f.path)
		for _, m := range []int{n / 2, n - 1} {
			if m >= 7 {
				out = append(out, failure{path: strings.Repeat("x", m)})
			}
		}
		return out, nil
	}
	f, err := minimal(failure{path: strings.Repeat("x", 100)}, smaller)
	if err != nil || len(f.path) != 7 || asked > 12 {
		t.Errorf("got %d after %d steps, %v, want 7", len(f.path), asked, err)
	}
	trouble := errors.New("trouble")
	if _, err := minimal(f, func(failure) ([]failure, error) { return nil, trouble }); err != trouble {
		t.Errorf("got %v", err)
	}
}

// TestNoPython runs without a Python that has PyTorch: one that is asked for must have it, or one that is
// looked for.
func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := run(t.Context(), &bytes.Buffer{}, options{cases: 1, python: "/nonexistent/python"})
	if err == nil || !strings.Contains(err.Error(), "want a Python with PyTorch, got /nonexistent/python") {
		t.Errorf("got %v", err)
	}
	_, _, err = find(t.Context(), "", "python3", "/nonexistent/python")
	if err == nil || !strings.Contains(err.Error(), "python3-torch") {
		t.Errorf("got %v", err)
	}
}

// fake is a Python that has a PyTorch of version 9, and copies cases of this folder instead of making some.
// Of a case that fails it gives one that is smaller, which is right.
const fake = `#!/bin/sh
case "$1" in
-c) echo 9 ;;
*) for last; do :; done
   case "$2" in
   operators) cp %[1]s/wrong.safetensors %[1]s/right.safetensors "$5" ;;
   graphs) cp %[1]s/right.safetensors "$5" ;;
   shrink) cp %[1]s/right.safetensors "$4" ;;
   esac ;;
esac
`

// TestRun judges a right and a wrong case. The wrong one is printed and saved, and the error counts it.
func TestRun(t *testing.T) {
	cases, _, err := conform.LoadAll(conform.Cases(), "softmax")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, scale float64) {
		f := safetensors.File{Metadata: map[string]string{"op": "softmax", "tol": `{"out.output": {"rtol": 1e-3}}`}, Tensors: map[string]safetensors.Tensor{}}
		c := cases[0]
		f.Tensors["in.input"] = c.Tensors["in.input"]
		out := c.Tensors["out.output"]
		out.Data = bytes.Clone(out.Data)
		for i, v := range out.Float64s() {
			out.Type.PutFloat64(out.Data[i*out.Type.Size():], scale*v)
		}
		f.Tensors["out.output"] = out
		data, err := f.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".safetensors"), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("right", 1)
	write("wrong", 1.1)
	python := filepath.Join(dir, "python")
	if err := os.WriteFile(python, fmt.Appendf(nil, fake, dir), 0o777); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	save := filepath.Join(dir, "save")
	err = run(t.Context(), &out, options{cases: 2, graphs: 1, seed: 3, python: python, save: save})
	if err == nil || !strings.HasPrefix(err.Error(), "1 cases differ from PyTorch") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"torch: PyTorch 9, seed 3\n", "torch: wrong: ", "softmax ", "catalogue: out.output: ", "torch: 2 of 2 operators, 1 wrong", "torch: 1 of 1 graphs, 1 wrong"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
	saved, _, err := conform.LoadAll(os.DirFS(save))
	if err != nil || len(saved) != 1 || saved[0].Op != "softmax" || saved[0].Name() != "seed_3/wrong" {
		t.Errorf("saved %v, %v", saved, err)
	}
	if err := run(t.Context(), &out, options{graphs: 1, python: python, save: save}); err != nil {
		t.Error(err)
	}
}
