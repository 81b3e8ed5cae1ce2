// Package cudaemu builds an emulator of CUDA's driver API, for tests on machines without a GPU. It runs
// device code that g++ compiles, on threads of this machine.
package cudaemu

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed src
var sources embed.FS

// flags are those with which g++ compiles device code. Products are not fused with sums, as Go does on amd64.
// Shared variables are thread-local, of a library that can be unloaded. Large local arrays touch each page of
// the stack, so that they do not step over the page that ends it.
const flags = "-x c++ -std=c++17 -O1 -w -fPIC -fno-gnu-unique -fvisibility=hidden -fwrapv -fno-strict-aliasing -fno-math-errno -ffp-contract=off -fstack-clash-protection"

// Build writes the emulator to a folder: libcuda.so.1, libcublas.so.12, and compile.sh with what it needs.
func Build(dir string) error {
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "g++"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := fs.WalkDir(sources, "src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, d.Name()), data, 0o755)
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "flags"), []byte(flags+"\n"), 0o644)
	}
	if err != nil {
		return err
	}
	library := []string{"-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-pthread", "-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", "block.cc", "driver.cc", "-ldl", "-o", "libcuda.so.1"}
	blas := []string{"-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared", "cublas.cc", "-L.", "-l:libcuda.so.1", "-Wl,-rpath,$ORIGIN", "-o", "libcublas.so.12"}
	header := append(strings.Fields(flags), "cuemu.h", "-o", "cuemu.h.gch") // compiled once for all device code
	header[1] = "c++-header"
	if err := run(dir, cxx, library...); err != nil {
		return err
	}
	return errors.Join(run(dir, cxx, blas...), run(dir, cxx, header...))
}

// run runs a command in a folder. The error has what it printed.
func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
