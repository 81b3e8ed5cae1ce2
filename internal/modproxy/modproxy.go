// Package modproxy writes modules into a folder from which the go command installs them, as it does from a module proxy on the network.
package modproxy

import (
	zipfile "archive/zip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// Add adds a module to the proxy in the folder proxy. The module is in the folder source, and its version has a leading v. The
// revision names a commit of a git repository. If it is empty, the files are taken as they are. The module's path is returned.
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
	if err := pack(archive, m, source, revision); err != nil {
		return "", errors.Join(err, os.Remove(archive))
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

// pack writes the zip of a module.
func pack(name string, m module.Version, source, revision string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if revision == "" {
		err = zip.CreateFromDir(f, m, source)
	} else {
		err = zip.CreateFromVCS(f, m, source, revision, "")
	}
	return errors.Join(err, f.Close())
}

// modOf returns the file go.mod in the zip of a module. That of a revision may differ from the one in the folder.
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
