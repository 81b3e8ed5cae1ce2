// Package lock lets one run of opgen at a time write the files of a module.
package lock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// file is the name of the file, at the module's root, that is locked. It is there while a run lasts. One that
// a killed run left is not locked, and the next run removes it.
const file = ".opgen.lock"

// Exists reports whether a run of the module at root lasts, or was killed.
func Exists(root string) bool {
	_, err := os.Lstat(filepath.Join(root, file))
	return err == nil
}

// Acquire waits until no other run holds the lock of the module at root, and returns a function that gives it
// back. It holds nothing, and returns a function that does nothing, where the root cannot be written or the
// file system has no locks.
func Acquire(ctx context.Context, root string) (release func(), err error) {
	name := filepath.Join(root, file)
	for {
		f, err := open(ctx, name)
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EROFS):
			return func() {}, nil
		case err != nil:
			return nil, err
		}
		if current(f, name) {
			// The file goes before the lock does, so that a run which waits for it finds out that it has the
			// lock of a file that is gone.
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close()
	}
}

// current reports whether an open file still has its name.
func current(f *lockedfile.File, name string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(have, now)
}

// open opens and locks the file. It stops waiting when ctx is done.
func open(ctx context.Context, name string) (*lockedfile.File, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: errors.New("want a regular file")}
	}
	type result struct {
		f   *lockedfile.File
		err error
	}
	done := make(chan result, 1)
	go func() {
		f, err := lockedfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		done <- result{f, err}
	}()
	select {
	case r := <-done:
		return r.f, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.f != nil {
				r.f.Close()
			}
		}()
		return nil, ctx.Err()
	}
}
