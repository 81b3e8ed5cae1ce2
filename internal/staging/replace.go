package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// File is a file that is written: a path, its content now, nil if there is no such file, and its new content.
type File struct {
	Path     string
	Old, New []byte
}

// Write writes all files, or none if one cannot be written or has changed. It follows links to files that are
// there, and makes folders that are not. Files take their places folder by folder, in the order of each
// folder's first file, so a process that is killed leaves no file of a later folder without those of an
// earlier one.
func Write(files []File) error {
	areas := map[string]*Area{}
	var order []*Area
	defer func() {
		for _, a := range order {
			a.Discard()
			a.root.Close()
		}
	}()
	for _, f := range files {
		dir, name, err := place(f)
		if err != nil {
			return err
		}
		if areas[dir] == nil {
			root, err := os.OpenRoot(dir)
			if err != nil {
				return err
			}
			areas[dir] = New(root)
			order = append(order, areas[dir])
		}
		if err := areas[dir].Put(name, f.Old, f.New, false); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	for _, a := range order {
		if err := a.Write(); err != nil {
			return err
		}
		if err := a.Check(); err != nil {
			return err
		}
	}
	for _, a := range order {
		if err := a.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// place returns a folder that exists and the path of a file below it, with slashes.
func place(f File) (dir, name string, err error) {
	p := f.Path
	if f.Old != nil {
		if p, err = filepath.EvalSymlinks(p); err != nil {
			return "", "", err
		}
	}
	if p, err = filepath.Abs(p); err != nil { // the parent of a relative folder may be itself
		return "", "", err
	}
	dir, name = filepath.Split(p)
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", "", &fs.PathError{Op: "write", Path: f.Path, Err: fmt.Errorf("%s is no folder", filepath.Clean(dir))}
		case err == nil:
			dir, err = filepath.EvalSymlinks(dir)
			return dir, name, err
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", err
		}
		var base string
		dir, base = filepath.Split(filepath.Clean(dir))
		name = path.Join(base, name)
	}
}
