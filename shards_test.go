package opgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/runtime/dtype"
)

// saving names the index that a process of this test saves to, again and again.
const saving = "OPGEN_TEST_SAVING"

// TestKilledSave kills processes that save to an index, until one leaves files that no index names. The next
// save removes them, and what was only begun, but no file of another index or of a copy of the index.
func TestKilledSave(t *testing.T) {
	if index := os.Getenv(saving); index != "" {
		for s := newSmall(t, dtype.F32); ; s.run() {
			if err := s.SaveVariables(index, opgen.MaxFile(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Parallel()
	dir := t.TempDir()
	index, other := filepath.Join(dir, "model.safetensors.index.json"), filepath.Join(dir, "model-other.safetensors.index.json")
	s := newSmall(t, dtype.F32)
	save := func(path string) (named []string) {
		t.Helper()
		if err := s.SaveVariables(path, opgen.MaxFile(1)); err != nil {
			t.Fatal(err)
		}
		return append(namedBy(t, path), filepath.Base(path))
	}
	want := append(save(other), "copy.safetensors.index.json", "model-00000000-00001-of-00002.safetensors", "model.safetensors.index.json.tmp", "model.safetensors.index.json.1")
	want = append(want, save(index)...)
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model-00000000-00001-of-00002.safetensors", "model.safetensors.index.json.tmp", "model.safetensors.index.json.1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "copy.safetensors.index.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	left := 0
	for round := range 50 {
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledSave$")
		cmd.Env = append(os.Environ(), saving+"="+index)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(100 * time.Microsecond) {
			now, err := os.ReadFile(index)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if !bytes.Equal(now, before) {
				break
			}
		}
		time.Sleep(time.Duration(round) * 300 * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // the process was killed
		now := append(namedBy(t, index), want...)
		for _, name := range names(t, dir) {
			if !slices.Contains(now, name) {
				left++
			}
		}
		if left > 0 && round >= 4 {
			break
		}
	}
	if left == 0 {
		t.Fatal("no process left a file that no index names")
	}
	s.run()
	want = append(want, save(index)...)
	slices.Sort(want)
	want = slices.Compact(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if err := s.LoadVariables(index); err != nil {
		t.Error(err)
	}
}

// namedBy returns the files that an index names.
func namedBy(t *testing.T, path string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range index.Files {
		if !strings.HasSuffix(name, ".safetensors") {
			t.Errorf("%s names %q", path, name)
		}
		out = append(out, name)
	}
	return out
}
