//go:build cuda

package ahead

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFind finds the code that fits an architecture best, and none of another generation.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 {
		if err := Keep(dir, "a source"); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := Sources(dir)
	if err != nil || len(paths) != 1 {
		t.Fatalf("got sources %q, %v", paths, err)
	}
	if text, err := os.ReadFile(paths[0]); err != nil || string(text) != "a source" {
		t.Errorf("got %q, %v", text, err)
	}
	find := func(arch, want string) {
		t.Helper()
		if got := Find(dir, "a source", arch); string(got) != want {
			t.Errorf("%s: got %q, want %q", arch, got, want)
		}
	}
	find("sm_90", "")
	for _, form := range []string{"sm_80", "sm_90", PTX} {
		if err := Write(File(paths[0], form), []byte("code for "+form)); err != nil {
			t.Fatal(err)
		}
		if form == "sm_90" {
			find("sm_75", "")
		}
	}
	find("sm_80", "code for sm_80")
	find("sm_86", "code for sm_80")
	find("sm_90", "code for sm_90")
	find("sm_100", "code for ptx")
	if got := Find(dir, "another source", "sm_90"); got != nil {
		t.Errorf("another source: got %q", got)
	}
	if err := Write(filepath.Join(dir, "nowhere", "file"), nil); err == nil {
		t.Error("want an error of a file in no folder, got none")
	}
	if _, err := Sources(t.TempDir()); err == nil {
		t.Error("want an error of a folder without sources, got none")
	}
}
