// Package modproxy writes modules into a folder from which the go command installs them, as it does from a
// module proxy on the network.
package modproxy

import (
	zipfile "archive/zip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// Add adds a module to the proxy in the folder proxy. The module is in the folder source, and its version has
// a leading v. The revision names a commit of a git repository. If it is empty, the files are taken as they
// are, but for those that git ignores and those of the proxy. The module's path is returned.
func Add(proxy, source, version, revision string) (string, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", err
	}
	m := module.Version{Path: modfile.ModulePath(text), Version: version}
	if err := module.Check(m.Path, m.Version); err != nil {
		return "", err
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	archive := filepath.Join(dir, version+".zip")
	if err := pack(archive, m, proxy, source, revision); err != nil {
		return "", err
	}
	mod, err := modOf(archive, m)
	if err != nil {
		return "", err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Unix(0, 0).UTC()}) // a version has the same files, whenever it is packed
	if err != nil {
		return "", err
	}
	for name, data := range map[string][]byte{".info": info, ".mod": mod} {
		if err := os.WriteFile(filepath.Join(dir, version+name), data, 0o666); err != nil {
			return "", err
		}
	}
	return m.Path, list(dir, version)
}

// pack writes the zip of a module. The file appears when it is whole. The proxy may lie within the module, as
// a folder bin does; it is no part of it.
func pack(name string, m module.Version, proxy, source, revision string) (err error) {
	var files []zip.File
	if revision == "" {
		if files, err = filesOf(source, proxy); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	if revision == "" {
		err = zip.Create(f, m, files)
	} else {
		err = zip.CreateFromVCS(f, m, source, revision, "")
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// filesOf returns the files of a module as they are in its folder, but for what git ignores, and for those of
// the proxy.
func filesOf(source, proxy string) ([]zip.File, error) {
	proxy, err := filepath.Abs(proxy)
	if err != nil {
		return nil, err
	}
	source, err = filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	names, err := listed(source)
	if err != nil {
		return nil, err
	}
	var files []zip.File
	for _, name := range names {
		path := filepath.Join(source, filepath.FromSlash(name))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue // git still has it
		}
		if rel, err := filepath.Rel(proxy, path); err != nil || !filepath.IsLocal(rel) {
			files = append(files, file{name, path})
		}
	}
	return files, nil
}

// listed returns the paths of the files of a folder: those that git knows or would add. Without git, or if
// git ignores the folder, it returns all but those of repositories themselves.
func listed(source string) ([]string, error) {
	c := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z")
	c.Dir = source
	if out, err := c.Output(); err == nil {
		names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if slices.Contains(names, "go.mod") {
			return names, nil
		}
	}
	var names []string
	err := filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if slices.Contains([]string{".bzr", ".git", ".hg", ".svn"}, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(source, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	return names, err
}

// file is a file to pack.
type file struct{ name, path string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.path) }

// modOf returns the file go.mod in the zip of a module. That of a revision may differ from the one in the
// folder.
func modOf(archive string, m module.Version) ([]byte, error) {
	r, err := zipfile.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return fs.ReadFile(r, m.String()+"/go.mod")
}

// list adds a version to the list of versions, which the go command reads to find the newest one.
func list(dir, version string) error {
	file := filepath.Join(dir, "list")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	versions := append(strings.Fields(string(text)), version)
	semver.Sort(versions)
	return os.WriteFile(file, []byte(strings.Join(slices.Compact(versions), "\n")+"\n"), 0o666)
}
