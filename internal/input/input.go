// Package input reads what users write: regular files of a bounded size, alone or those of a folder and of all below it.
// It follows symbolic links, as editors and build systems do.
package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// maxText is how many bytes a spec, opgen.toml or go.mod may have.
const maxText = 1 << 20

// errNotRegular says that something is neither a regular file nor a link to one.
var errNotRegular = errors.New("want a regular file")

// Text reads a file of at most maxText bytes.
func Text(path string) ([]byte, error) { return read(path, maxText) }

// File reads a regular file of any size.
func File(path string) ([]byte, error) { return read(path, math.MaxInt64-1) }

// Copy writes what a regular file of any size holds to w. It does not hold the file in memory.
func Copy(w io.Writer, path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	_, err = io.CopyBuffer(w, struct{ io.Reader }{f}, *buffer) // whose own WriteTo would make a buffer
	return err
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 64<<10)) }}

func read(path string, limit int64) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("want at most %d bytes", limit)}
	}
	return data, err
}

// open opens a regular file. A pipe or a device is refused before it is opened, since it may block or have effects. The flag
// is for a file that becomes a pipe in between.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w, got %s", errNotRegular, kind(info.Mode()))}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// kind names what is no regular file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// Walk calls visit for all that is no folder, below a folder that exists, in the order of the paths. It follows links to
// folders. An error names a folder that contains itself by a link, or one that cannot be read.
func Walk(dir string, visit func(path string) error) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return walk(dir, []fs.FileInfo{info}, visit)
}

func walk(dir string, trail []fs.FileInfo, visit func(path string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			if err := visit(path); err != nil {
				return err
			}
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() { // visit finds out that a link leads nowhere, if it reads the file
			if err := visit(path); err != nil {
				return err
			}
			continue
		}
		for _, above := range trail {
			if os.SameFile(above, info) {
				return &fs.PathError{Op: "read", Path: path, Err: errors.New("the link leads back to a folder that contains it")}
			}
		}
		if err := walk(path, append(trail[:len(trail):len(trail)], info), visit); err != nil {
			return err
		}
	}
	return nil
}
