//go:build unix

package conform_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opgen/opgen/runtime/conform"
)

// TestFiles reads cases that are pipes and files with holes of a terabyte.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.safetensors", "a.json"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conform.LoadAll(os.DirFS(dir)); err == nil || !strings.HasPrefix(err.Error(), name+": want a regular file of at most 1073741824 bytes, got p") {
			t.Errorf("a pipe: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err == nil {
			err = f.Truncate(1 << 40)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conform.LoadAll(os.DirFS(dir)); err == nil || !strings.HasSuffix(err.Error(), " of 1099511627776") {
			t.Errorf("a hole: %v", err)
		}
	}
}
