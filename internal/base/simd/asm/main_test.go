package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUpToDate compares the files of package simd with those that the generator makes now.
func TestUpToDate(t *testing.T) {
	folder := t.TempDir()
	if err := write(folder); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 6 {
		t.Errorf("want 6 files, got %d", len(made))
	}
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes: run go generate in internal/base/simd/asm", f.Name())
		}
	}
}

// computing are the packages whose results are to have the same bits on all architectures, beside simd.
var computing = []string{"./formula", "./formula/internal/loops", "./formula/internal/rewrite", "./kernels", "./runtime/blas", "./runtime/box", "./runtime/contraction", "./runtime/fourier",
	"./runtime/raw", "./runtime/rng", "./runtime/taskgraph", "./runtime/tensor", "./runtime/vec"}

// TestNothingElseFused looks for fused multiply-adds in the packages that compute, for arm64: there the
// compiler fuses a product with a sum unless a conversion keeps it from that.
func TestNothingElseFused(t *testing.T) {
	fused := regexp.MustCompile(`\sFN?M(ADD|SUB)[SD]\s`)
	product := regexp.MustCompile(`\sFMUL[SD]\s`)
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-S"}, computing...)...)
	cmd.Dir = "../../../.."
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(product.FindAll(out, -1)); n < 100 {
		t.Errorf("want at least 100 products in the code, got %d: the test does not see it", n)
	}
	for line := range strings.Lines(string(out)) {
		if fused.MatchString(line) && !strings.Contains(line, "/simd/fma.go:") && !strings.Contains(line, "/simd/tile_go.go:") {
			t.Errorf("%s", line)
		}
	}
}

// TestNothingFused looks for fused multiply-adds in what the compiler makes of the portable functions, on
// architectures where it fuses a product with a sum unless a conversion keeps it from that. In fma.go and
// tile_go.go, they are meant, or change nothing.
func TestNothingFused(t *testing.T) {
	fused := regexp.MustCompile(`\sV?FN?M(ADD|SUB)\w*\s`)
	product := regexp.MustCompile(`\s(FMUL[SD]|MULS[SD])\s`)
	for _, setting := range []string{"GOARCH=arm64", "GOAMD64=v3"} {
		cmd := exec.Command("go", "build", "-gcflags=-S", ".")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), setting)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", setting, err, out)
		}
		if n := len(product.FindAll(out, -1)); n < 100 {
			t.Errorf("%s: want at least 100 products in the code, got %d: the test does not see it", setting, n)
		}
		for line := range strings.Lines(string(out)) {
			if fused.MatchString(line) && !strings.Contains(line, "/fma.go:") && !strings.Contains(line, "/tile_go.go:") {
				t.Errorf("%s: %s", setting, line)
			}
		}
	}
}

// TestFused looks at what the compiler makes of the micro tiles on all architectures of which the constant
// fuses says that it makes one instruction of a product and a sum: for each of the eight, or four, there is
// one, and no sum or product without the other.
func TestFused(t *testing.T) {
	text := regexp.MustCompile(`^\S*/simd\.plain(Two|One|Dots|Four)\[go\.shape\.float(32|64)\].* STEXT`)
	other := regexp.MustCompile(`^\S* STEXT`)
	instruction := regexp.MustCompile(`/tile_go\.go:\d+\)\s+(\S+)`)
	fused := regexp.MustCompile(`^(V?FMADD\w*|FMADD[SDF]?)$`)
	alone := regexp.MustCompile(`^(V?(ADD|MUL)S[SD]|FADD[SD]?|FMULS?D?|(ADD|MUL)[FD])$`)
	for _, setting := range []string{"GOARCH=arm64", "GOARCH=loong64", "GOARCH=ppc64", "GOARCH=ppc64le", "GOARCH=riscv64", "GOARCH=s390x", "GOAMD64=v3"} {
		cmd := exec.Command("go", "build", "-gcflags=-S", ".")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), setting)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", setting, err, out)
		}
		counts, in := map[string]int{}, ""
		for line := range strings.Lines(string(out)) {
			if m := text.FindStringSubmatch(line); m != nil {
				in = m[1] + m[2]
			} else if other.MatchString(line) {
				in = ""
			}
			m := instruction.FindStringSubmatch(line)
			switch {
			case in == "" || m == nil:
			case fused.MatchString(m[1]):
				counts[in]++
			case alone.MatchString(m[1]):
				t.Errorf("%s: %s: %s", setting, in, line)
			}
		}
		for f, want := range map[string]int{"Two": 8, "One": 8, "Dots": 8, "Four": 4} {
			for _, bits := range []string{"32", "64"} {
				if got := counts[f+bits]; got != want {
					t.Errorf("%s: plain%s%s: want %d sums of products, got %d", setting, f, bits, want, got)
				}
			}
		}
	}
}
