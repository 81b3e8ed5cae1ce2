package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite writes this module into a proxy. Its zip has the packages and the license.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	if err := write(&b, dir, "../..", "v0.1.0", ""); err != nil {
		t.Fatal(err)
	}
	if want := "github.com/opgen/opgen v0.1.0: GOPROXY=file://" + filepath.ToSlash(dir) + "\n"; b.String() != want {
		t.Errorf("it prints %q, want %q", &b, want)
	}
	info, err := os.Stat(filepath.Join(dir, "github.com", "opgen", "opgen", "@v", "v0.1.0.zip"))
	if err != nil || info.Size() < 1<<20 {
		t.Errorf("want a zip of at least 1 MiB, got %v, %v", info, err)
	}
	if err := write(&b, dir, dir, "v0.1.0", ""); err == nil {
		t.Error("a folder without a module: want an error")
	}
}
