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
	if len(made) != 4 {
		t.Errorf("want 4 files, got %d", len(made))
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
			t.Errorf("%s is not what the generator makes: run go generate in runtime/internal/simd/asm", f.Name())
		}
	}
}

// TestNothingFused looks for fused multiply-adds in what the compiler makes of the portable functions, on
// architectures where it fuses a product with a sum unless a conversion keeps it from that. In tile.go, they are meant, or change nothing.
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
			if fused.MatchString(line) && !strings.Contains(line, "tile.go:") {
				t.Errorf("%s: %s", setting, line)
			}
		}
	}
}
