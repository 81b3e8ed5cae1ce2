// Package docs holds no code but the tests that keep generated documents true.
package docs

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/kernelfile"
)

var update = flag.Bool("update", false, "rewrite the generated documents")

// flexflow gives, for FlexFlow's operators at commit fe452dbbd (2 June 2024), the hand-written lines
// that are neither blank nor comments: of the operator's own .cc file, of all non-kernel files and of
// the CUDA kernel where they were counted (0 where not).
var flexflow = map[string]struct{ op, nonKernel, kernel int }{
	"batch_matmul":        {173, 0, 0},
	"batch_norm":          {190, 305, 157},
	"cast":                {95, 0, 0},
	"combine":             {79, 0, 0},
	"concat":              {101, 0, 0},
	"conv_2d":             {195, 0, 0},
	"dropout":             {141, 0, 0},
	"element_binary":      {191, 0, 0},
	"element_unary":       {160, 0, 0},
	"embedding":           {112, 0, 0},
	"flat":                {87, 0, 0},
	"gather":              {153, 0, 0},
	"layer_norm":          {182, 275, 405},
	"linear":              {236, 365, 279},
	"multihead_attention": {258, 493, 276},
	"pool_2d":             {164, 0, 0},
	"reduce":              {121, 0, 0},
	"reduction":           {75, 0, 0},
	"repartition":         {112, 0, 0},
	"replicate":           {74, 0, 0},
	"reshape":             {100, 0, 0},
	"reverse":             {103, 0, 0},
	"softmax":             {110, 0, 0},
	"split":               {115, 0, 0},
	"topk":                {123, 0, 0},
	"transpose":           {97, 0, 0},
}

// lines counts the lines of files that are neither blank nor comments.
func lines(t *testing.T, comment string, files ...string) int {
	t.Helper()
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, comment) {
				n++
			}
		}
	}
	return n
}

// TestLines keeps docs/lines.md, the table of hand-written and generated lines, up to date.
func TestLines(t *testing.T) {
	r, err := driver.Load("..")
	m := r.Module()
	if err != nil || m == nil {
		t.Fatal(err, r.Findings)
	}
	var b bytes.Buffer
	b.WriteString(`# Lines

Hand-written and generated lines of each operator, neither blank nor comments: the spec, the CPU
kernel with its backward for all element types, and the generated Go. Beside them, the hand-written lines of
[FlexFlow](https://github.com/flexflow/flexflow-train) for the same operator at commit fe452dbbd: the operator's own .cc file (slots,
signatures, invocations, registration, cost measurement, task bodies), all its files but the kernel,
and the CUDA kernel; a dash where that was not counted. An operator whose kernel is its formula has a dash for the kernel.

This table is written by a test: go test ./docs -update.

| operator | spec | kernel | generated | FlexFlow .cc | non-kernel | .cu |
|---|---:|---:|---:|---:|---:|---:|
`)
	var specs, kernels, generated []int
	var ours, theirs int
	for _, op := range m.Operators {
		spec := lines(t, "#", filepath.Join("..", op.Source))
		kernel := 0
		if !op.Derived {
			kernel = lines(t, "//", filepath.Join("..", "kernels", kernelfile.Name(op.Name)))
			kernels = append(kernels, kernel)
		}
		files, err := filepath.Glob(filepath.Join("..", "generated", goname.Package(op.Name), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		gen := lines(t, "//", files...)
		specs, generated = append(specs, spec), append(generated, gen)
		dash := func(n int) string {
			if n == 0 {
				return "-"
			}
			return fmt.Sprint(n)
		}
		ff := flexflow[op.Name]
		if ff.op > 0 {
			ours, theirs = ours+spec, theirs+ff.op
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %s | %s |\n", op.Name, spec, dash(kernel), gen, dash(ff.op), dash(ff.nonKernel), dash(ff.kernel))
	}
	fmt.Fprintf(&b, "| **median** | %d | %d | %d | | | |\n", median(specs), median(kernels), median(generated))
	fmt.Fprintf(&b, "\nFor the operators that both have: %d lines of specs here, %d lines of .cc there.\n", ours, theirs)
	golden(t, "lines.md", b.Bytes())
}

func median(ns []int) int {
	ns = slices.Sorted(slices.Values(ns))
	return ns[len(ns)/2]
}

// golden compares a document with what it should be, or rewrites it.
func golden(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is out of date; run go test ./docs -update", name)
	}
}
