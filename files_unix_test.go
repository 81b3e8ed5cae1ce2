//go:build unix

package opgen_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestPipes loads what is no regular file, alone and named by an index: an error, at once.
func TestPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSmall(t, dtype.F32)
	pipe, index := filepath.Join(dir, "pipe"), filepath.Join(dir, "model.safetensors.index.json")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, []byte(`{"weight_map": {"affine.weight": "pipe"}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.safetensors.index.json")
	if err := syscall.Mkfifo(other, 0o666); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	if err := os.Mkdir(kept, 0o777); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wantError(t, s.LoadVariables(pipe), pipe, "want a regular file, got a pipe")
		wantError(t, s.LoadVariables(index), pipe, "want a regular file, got a pipe")
		wantError(t, s.LoadVariables(other), other, "want a regular file, got a pipe")
		wantError(t, s.SaveVariables(other, opgen.MaxFile(24)), other, "want a regular file, got a pipe")
		wantError(t, s.LoadVariables("/dev/zero"), "/dev/zero", "want a regular file, got a device")
		wantError(t, s.LoadVariables(dir), dir, "want a regular file, got a folder")
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("reading a pipe does not come to an end")
	}
}
