//go:build cuda

package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// TestNVRTC compiles the built-in operations for two architectures, for one that NVRTC does not know, and for
// none.
func TestNVRTC(t *testing.T) {
	v := cudadriver.OpenNVRTC()
	if v == nil {
		t.Skip("there is no NVRTC")
	}
	for arch, magic := range map[string]string{"sm_80": "\x7fELF", "sm_90": "\x7fELF", "sm_999": "//"} {
		image, err := v.Compile(gpu.Prelude+builtinSource, arch)
		if err != nil || !bytes.HasPrefix(bytes.TrimSpace(image), []byte(magic)) || !bytes.Contains(image, []byte("builtin_sum_bf16")) {
			t.Errorf("%s: %d bytes, %v", arch, len(image), err)
		}
	}
	for arch, source := range map[string]string{"sm_1": "", "next": "", "sm_80": "#line 1 \"softmax.forward\"\nnonsense"} {
		image, err := v.Compile(gpu.Prelude+source, arch)
		if err == nil || arch == "sm_80" && !strings.Contains(err.Error(), "softmax.forward(1): error") {
			t.Errorf("%s: %d bytes, %v", arch, len(image), err)
		}
	}
}

// TestCompilers finds NVRTC, or nvcc without it, or the command of the environment.
func TestCompilers(t *testing.T) {
	t.Setenv(compilerVariable, "")
	_, err := exec.LookPath("nvcc")
	c, found := findCompiler()
	if (found == nil) != (err == nil || cudadriver.OpenNVRTC() != nil) {
		t.Errorf("got %v, %v", c, found)
	}
	if err == nil {
		t.Setenv(compilerVariable, "nvcc -cubin -arch={arch} -o {out} {in}")
		c, err := findCompiler()
		if err != nil {
			t.Fatal(err)
		}
		if image, err := c.compile(gpu.Prelude+builtinSource, "sm_90"); err != nil || !bytes.HasPrefix(image, []byte("\x7fELF")) {
			t.Errorf("%d bytes, %v", len(image), err)
		}
	}
}

// TestCache compiles once, and again if the file of the cache is damaged.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cacheVariable, dir)
	compiled := 0
	c := &compiler{"test", func(source, arch string) ([]byte, error) {
		compiled++
		return []byte(source + arch), nil
	}}
	get := func(want int) {
		t.Helper()
		images.Clear() // as in another process
		image, err := c.image("source of "+t.Name(), "sm_90")
		if err != nil || string(image) != "source of TestCachesm_90" || compiled != want {
			t.Errorf("got %s, %v after %d compilations, want %d", image, err, compiled, want)
		}
	}
	get(1)
	get(1)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1]++
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	get(2)
	get(2)
	t.Setenv(cacheVariable, files[0]) // no folder, so nothing is kept
	get(3)
}
