package watch_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opgen/opgen/internal/watch"
)

// TestTake makes changes of all kinds. Each gives another state, also one that keeps the size and the time
// stamp of a file, as on a file system with coarse time stamps.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	w, paths := watch.New(), []string{at("a.toml"), at("specs"), at("none")}
	last := w.Take(paths)
	for _, c := range []struct {
		name string
		make func()
		same bool
	}{
		{"a new file", func() { write("a.toml", "one") }, false},
		{"a file that is not watched", func() { write("b.toml", "one") }, true},
		{"the same size", func() { write("a.toml", "two") }, false},
		{"the same size and time stamp", func() {
			do(os.Chtimes(at("a.toml"), now, now))
			w.Take(paths)
			write("a.toml", "six")
			do(os.Chtimes(at("a.toml"), now, now))
		}, false},
		{"the same content", func() { write("a.toml", "six") }, true},
		{"a file in a folder", func() { write("specs/a/b.toml", "x") }, false},
		{"another name", func() { do(os.Rename(at("specs/a/b.toml"), at("specs/a/c.toml"))) }, false},
		{"a link", func() { do(os.Symlink(at("b.toml"), at("specs/l.toml"))) }, false},
		{"what a link leads to", func() { write("b.toml", "two") }, false},
		{"a folder that contains itself", func() { do(os.Symlink(at("specs"), at("specs/loop"))) }, false},
		{"and no longer", func() { do(os.Remove(at("specs/loop"))) }, false},
		{"no folder", func() { do(os.RemoveAll(at("specs"))) }, false},
		{"no file", func() { do(os.Remove(at("a.toml"))) }, false},
		{"nothing", func() {}, true},
	} {
		c.make()
		next := w.Take(paths)
		if maps.Equal(next, last) != c.same {
			t.Errorf("%s: the states are equal: %v, want %v", c.name, !c.same, c.same)
		}
		last = next
	}
}

// TestWait checks that a change from before the call counts, and that the end of the context ends the call.
func TestWait(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	w, paths := watch.New(), []string{file}
	before := w.Take(paths)
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(t.Context(), paths, before); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Wait(ctx, paths, w.Take(paths)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
}
