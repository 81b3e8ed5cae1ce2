package docs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGuide does what the guide says, in an empty folder beside a copy of opgen, and offline. What opgen
// depends on comes from the module cache of the machine.
func TestGuide(t *testing.T) {
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	f := newFollower(t, "GOPROXY="+downloads(t), "GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "GOMODCACHE="+t.TempDir())
	if err := os.Symlink(repository, filepath.Join(f.dir, "opgen")); err != nil {
		t.Fatal(err)
	}
	f.dir = filepath.Join(f.dir, "module")
	if err := os.Mkdir(f.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f.follow("guide.md", func(code string) string { return code })
	if f.kinds["sh"] < 3 || f.kinds["text"] < 3 {
		t.Errorf("found blocks %v: this test looks in the wrong place", f.kinds)
	}
}
