package staging_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/opgen/opgen/internal/staging"
)

// TestWriteInOrder lets the last of twelve folders fail, after which all files before it must have taken
// their places. A process that is killed at any point stops there just the same.
func TestWriteInOrder(t *testing.T) {
	root := t.TempDir()
	var files []staging.File
	for i := range 12 {
		dir := filepath.Join(root, fmt.Sprint("folder", i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		files = append(files, staging.File{Path: filepath.Join(dir, "file"), New: []byte("text")})
	}
	files = append(files, files[len(files)-1]) // which is there when its turn comes
	if err := staging.Write(files); !errors.Is(err, staging.ErrChanged) {
		t.Errorf("a file that is written twice: got %v, want %v", err, staging.ErrChanged)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f.Path); string(text) != "text" {
			t.Errorf("%s: %q, %v", f.Path, text, err)
		}
	}
}

// TestWriteRelative writes to a relative path below folders that are not there.
func TestWriteRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := staging.Write([]staging.File{{Path: filepath.Join("a", "b", "c.txt"), New: []byte("text")}}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join("a", "b", "c.txt")); err != nil || string(b) != "text" {
		t.Errorf("got %q, %v", b, err)
	}
}
