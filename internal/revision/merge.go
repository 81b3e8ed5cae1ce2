package revision

import (
	"context"
	"path/filepath"
	"strings"
)

// Merge is a merge that git makes, or has made last, of the repository to which a folder belongs. A rebase
// and a cherry-pick are merges, too.
type Merge struct {
	dir string
	// Sides are revisions, or stages of the index, that may be those that were merged: each a prefix of the
	// paths of files.
	sides [][]string
}

// FindMerge returns the merge of the repository to which a folder belongs; nil if there is none.
func FindMerge(ctx context.Context, dir string) *Merge {
	m := &Merge{dir: dir}
	if out, err := m.git(ctx, "ls-files", "--unmerged", "-z"); err != nil {
		return nil // no repository, or no git
	} else if len(out) > 0 {
		m.sides = append(m.sides, []string{":2:", ":3:", ":1:"})
	}
	for _, other := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD"} {
		if _, err := m.git(ctx, "rev-parse", "--verify", "--quiet", other+"^{commit}"); err == nil {
			m.sides = append(m.sides, []string{"HEAD:", other + ":"})
		}
	}
	if _, err := m.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^2^{commit}"); err == nil {
		m.sides = append(m.sides, []string{"HEAD^1:", "HEAD^2:"})
	}
	if len(m.sides) == 0 {
		return nil
	}
	return m
}

// Versions calls f with each set of versions that the merge may have put together to the files with these
// paths in the folder, until f returns true. A version holds the files of one side, nil for one that the side
// has not. The first two are the sides of the merge.
func (m *Merge) Versions(ctx context.Context, f func(versions [][][]byte) bool, paths ...string) {
	for _, sides := range m.sides {
		var versions [][][]byte
		for _, side := range sides {
			files := make([][]byte, len(paths))
			for i, path := range paths {
				if data, err := m.git(ctx, "cat-file", "blob", side+"./"+filepath.ToSlash(path)); err == nil {
					files[i] = data
				}
			}
			versions = append(versions, files)
		}
		if f(versions) {
			return
		}
	}
}

// git runs git in the folder. It starts no program that the configuration names to watch files.
func (m *Merge) git(ctx context.Context, args ...string) ([]byte, error) {
	return git(ctx, m.dir, append(strings.Fields("-c core.fsmonitor=false"), args...)...)
}
