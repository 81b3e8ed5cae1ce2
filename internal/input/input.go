// Package input reads what users write: regular files of a bounded size, alone or those of a folder and of
// all below it. It follows symbolic links, as editors and build systems do.
package input

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/opgen/opgen/internal/base/regular"
)

// maxText is how many bytes a spec, opgen.toml or go.mod may have.
const maxText = 1 << 20

// Text reads a file of at most maxText bytes.
func Text(path string) ([]byte, error) { return regular.Read(path, maxText) }

// File reads a regular file of any size.
func File(path string) ([]byte, error) { return regular.Read(path, math.MaxInt64-1) }

// Copy writes what a regular file of any size holds to w. It does not hold the file in memory.
func Copy(w io.Writer, path string) error {
	f, err := regular.Open(path)
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

// Walk calls visit for all that is no folder, below a folder that exists, in the order of the paths. It
// follows links to folders. An error names a folder that contains itself by a link, or one that cannot be
// read.
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
