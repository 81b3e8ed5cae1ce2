// Package revision reads the files of a module as they were in a revision of its git repository.
package revision

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// kept lists the extensions of the files that opgen reads.
var kept = []string{".toml", ".go", ".mod", ".sum"}

// Extract writes the files of a revision that opgen reads to a folder: specs, configuration and Go files of
// the module at root. The go.mod is that of root, with absolute paths of folders, so that the module finds
// what it needs.
func Extract(ctx context.Context, root, revision, to string) error {
	commit, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		if _, err := git(ctx, root, "rev-parse", "--git-dir"); err != nil {
			return fmt.Errorf("%s: want a git repository: %w", root, err)
		}
		return fmt.Errorf("want a revision of the git repository, such as a tag or a branch, got %q", revision)
	}
	archive, err := git(ctx, root, "archive", "--format=tar", strings.TrimSpace(string(commit)))
	if err != nil {
		return fmt.Errorf("%s: the files of %s: %w", root, revision, err)
	}
	if err := untar(bytes.NewReader(archive), to); err != nil {
		return fmt.Errorf("%s: the files of %s: %w", root, revision, err)
	}
	return copyModule(root, to)
}

// git runs git in a folder and returns its output.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return nil, fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// untar writes the files with kept extensions. Links are left out: what they point to is not part of the
// revision.
func untar(r io.Reader, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if h.Typeflag != tar.TypeReg || !slices.Contains(kept, filepath.Ext(name)) {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(name, data, 0o666); err != nil {
			return err
		}
	}
}

// copyModule copies the go.mod of a module, with absolute paths of the folders that take the place of
// modules.
func copyModule(root, to string) error {
	path := filepath.Join(root, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(path, data, nil)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(mod.Replace) {
		if r.New.Version == "" && modfile.IsDirectoryPath(r.New.Path) && !filepath.IsAbs(r.New.Path) {
			if err := mod.AddReplace(r.Old.Path, r.Old.Version, filepath.Join(root, filepath.FromSlash(r.New.Path)), ""); err != nil {
				return err
			}
		}
	}
	if data, err = mod.Format(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), data, 0o666)
}
