// Package staging changes files of a folder so that no reader and no crash sees half of one. New files are
// first written completely, next to those that they replace, and then take their places by renaming.
package staging

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opgen/opgen/internal/parallel"
)

// Folder is the name of the folder that holds staged files until they take their places. Only a run that was
// killed leaves it behind, and the next one removes it.
const Folder = ".opgen"

// Within reports whether a path, with slashes, is the folder or leads into it, also on file systems without
// case.
func Within(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.EqualFold(first, Folder)
}

// ErrChanged says that a file is not as it was when the change was planned.
var ErrChanged = errors.New("the file changed while opgen ran; run it again")

// Area is a set of changes of one folder that are prepared together.
type Area struct {
	root    *os.Root
	staged  []staged
	removed []file
	made    []string        // folders, each after the one that contains it
	open    bool            // whether Folder is there
	folders map[string]bool // that are there
}

// file is a file with the content that it has before the change; nil if there is none.
type file struct {
	path string // below the root, with slashes
	old  []byte
	any  bool // whether what is not a regular file may be replaced
}

type staged struct {
	file
	temp string
	data []byte
	mode fs.FileMode // 0 leaves it to the system
}

// New returns an area without changes. No other area of the folder may be in use.
func New(root *os.Root) *Area { return &Area{root: root} }

// Put stages the new content of a file, which Write writes. old is its content now, nil if there is no such
// file. With force, the new file also takes the place of a link, or of what is no regular file.
func (a *Area) Put(name string, old, data []byte, force bool) error {
	if err := a.begin(); err != nil {
		return err
	}
	if err := a.makeFolders(path.Dir(name)); err != nil {
		return err
	}
	s := staged{file: file{name, old, force}, temp: path.Join(Folder, strconv.Itoa(len(a.staged))), data: data}
	if err := a.check(s.file); err != nil {
		return err
	}
	if old != nil {
		s.mode = a.mode(name)
	}
	a.staged = append(a.staged, s)
	return nil
}

// Remove stages the removal of a file with the given content. Folders that become empty are removed, too.
func (a *Area) Remove(name string, old []byte) error {
	f := file{name, old, false}
	a.removed = append(a.removed, f)
	return a.check(f)
}

// begin makes the folder of staged files, after removing what a killed run left of it.
func (a *Area) begin() error {
	if a.open {
		return nil
	}
	if err := Clear(a.root); err != nil {
		return err
	}
	if err := a.root.Mkdir(Folder, 0o777); err != nil {
		return err
	}
	a.open = true
	return nil
}

// Clear removes what a killed run left in a folder. It removes only files that Put names: if there are
// others, it is an error.
func Clear(root *os.Root) error {
	info, err := root.Lstat(Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: want no file of that name, where opgen keeps files for the time of a run", path.Join(root.Name(), Folder))
	}
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), Folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || !e.Type().IsRegular() {
			return fmt.Errorf("%s: want no such file, since opgen keeps files there for the time of a run", path.Join(root.Name(), Folder, e.Name()))
		}
	}
	for _, e := range entries {
		if err := root.Remove(path.Join(Folder, e.Name())); err != nil {
			return err
		}
	}
	return root.Remove(Folder)
}

// makeFolders makes a folder, and those above it, and keeps in mind which it made.
func (a *Area) makeFolders(dir string) error {
	if dir == "." || a.folders[dir] {
		return nil
	}
	if a.folders == nil {
		a.folders = map[string]bool{}
	}
	info, err := a.root.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		a.folders[dir] = true
		return nil
	case err == nil:
		return fmt.Errorf("%s: want a folder", path.Join(a.root.Name(), dir))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := a.makeFolders(path.Dir(dir)); err != nil {
		return err
	}
	if err := a.root.Mkdir(dir, 0o777); err != nil {
		return err
	}
	a.made = append(a.made, dir)
	a.folders[dir] = true
	return nil
}

// mode returns the permissions of the file that is replaced.
func (a *Area) mode(name string) fs.FileMode {
	if info, err := a.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	return 0
}

// together is how many files are written at a time, since the system brings those to the disk together.
const together = 64

// Write writes the staged files completely, also to the disk: a crash of the system after Commit leaves no
// file empty.
func (a *Area) Write() error {
	if len(a.staged) == 0 {
		return nil
	}
	folder, err := a.root.OpenRoot(Folder) // once, rather than for each file
	if err != nil {
		return err
	}
	defer folder.Close()
	errs := make([]error, len(a.staged))
	var wg sync.WaitGroup
	free := make(chan struct{}, together)
	for i := range a.staged {
		free <- struct{}{}
		wg.Go(func() {
			if err := write(folder, &a.staged[i]); err != nil {
				errs[i] = fmt.Errorf("writing %s: %w", path.Join(a.root.Name(), a.staged[i].path), err)
			}
			<-free
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// write writes a staged file in the folder of staged files.
func write(folder *os.Root, s *staged) error {
	f, err := folder.OpenFile(path.Base(s.temp), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(s.data)
	if err == nil && s.mode != 0 {
		err = f.Chmod(s.mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// check compares a file with what it was when the change was planned.
func (a *Area) check(f file) error {
	info, err := a.root.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.old == nil:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: want a file, got a folder", path.Join(a.root.Name(), f.path))
	case err == nil && f.any && !info.Mode().IsRegular():
		return nil
	case err == nil && f.old != nil && info.Mode().IsRegular():
		now, err := a.root.ReadFile(f.path)
		if err != nil {
			return err
		}
		if bytes.Equal(now, f.old) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", path.Join(a.root.Name(), f.path), ErrChanged)
}

// Check reports a file that changed since its change was planned. Callers with several areas check all of
// them first.
func (a *Area) Check() error {
	files := slices.Clone(a.removed)
	for _, s := range a.staged {
		files = append(files, s.file)
	}
	errs := make([]error, len(files))
	parallel.Do(len(files), func(i int) { errs[i] = a.check(files[i]) })
	return cmp.Or(errs...)
}

// Commit lets the staged files take their places and removes files. Each file is compared once more right
// before. After an error, files before it have changed and others have not.
func (a *Area) Commit() error {
	defer a.Discard()
	for len(a.staged) > 0 {
		s := a.staged[0]
		if err := a.check(s.file); err != nil {
			return err
		}
		if err := a.root.Rename(s.temp, s.path); err != nil {
			return err
		}
		a.staged = a.staged[1:]
	}
	a.made = nil // they hold files now
	for _, f := range a.removed {
		if err := a.check(f); err != nil {
			return err
		}
		if err := a.root.Remove(f.path); err != nil {
			return err
		}
		for dir := path.Dir(f.path); dir != "." && a.root.Remove(dir) == nil; { // which fails unless it is empty
			dir = path.Dir(dir)
		}
	}
	return nil
}

// Discard drops staged files, and the folders that were made for them. After Commit there are none.
func (a *Area) Discard() {
	for _, s := range a.staged {
		a.root.Remove(s.temp)
	}
	if a.open {
		a.root.Remove(Folder)
	}
	for i := len(a.made) - 1; i >= 0; i-- {
		a.root.Remove(a.made[i]) // which fails unless it is empty
	}
	*a = Area{root: a.root}
}
