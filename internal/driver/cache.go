package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/kernelfile"
)

// A run keeps size, time stamp and checksum of its inputs and outputs in the user's cache folder, as git does
// in its index. The next run does nothing if sizes and time stamps of all of them, and of opgen itself, are the
// same. Results do not depend on the cache: without it, a run does all the work.

const cacheFormat = 7

type snapshot struct {
	Format    int             `json:"format"`
	Tool      stamp           `json:"tool"`
	Taken     time.Time       `json:"taken"`
	Operators int             `json:"operators"`
	Folders   []folder        `json:"folders"`
	Kernels   kernelFiles     `json:"kernels"`
	Programs  []stamp         `json:"programs,omitempty"` // of plug-ins
	Files     map[string]file `json:"files"`              // by path relative to the module's root, with slashes
}

// folder is a folder with tracked files: those with an extension, or all if Ext is "".
type folder struct {
	Path string `json:"path"`
	Ext  string `json:"ext,omitempty"`
}

// kernelFiles are the files of kernels, which decide which kernels are derived from formulas, and which may have findings.
type kernelFiles struct {
	Path  string   `json:"path"`
	Names []string `json:"names"`
}

type stamp struct {
	Path string    `json:"path,omitempty"`
	Size int64     `json:"size"`
	Time time.Time `json:"time"`
}

type file struct {
	stamp
	Sum string `json:"sum"`
}

// racy is how much older than the snapshot a time stamp must be to be trusted. Two changes in a shorter time
// may give equal time stamps, since some file systems count in steps of two seconds.
const racy = 2 * time.Second

func cachePath(root string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, "opgen", hex.EncodeToString(sum[:12])+".json"), nil
}

func tool() (stamp, error) {
	exe, err := os.Executable()
	if err != nil {
		return stamp{}, err
	}
	return stampOf("", exe)
}

// stampOf returns the stamp of a program: a name to look up in PATH, or the path of a file. A relative path begins
// at root.
func stampOf(root, program string) (stamp, error) {
	file := program
	if filepath.Base(program) == program {
		found, err := exec.LookPath(program)
		if err != nil {
			return stamp{}, err
		}
		file = found
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, err
	}
	return stamp{program, info.Size(), info.ModTime()}, nil
}

// upToDate returns the result of a run if nothing has changed since the last run, or else nil.
func upToDate(root string) *Result {
	began := time.Now()
	path, err := cachePath(root)
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var s snapshot
	if json.Unmarshal(data, &s) != nil || s.Format != cacheFormat {
		return nil
	}
	if t, err := tool(); err != nil || t.Path != s.Tool.Path || t.Size != s.Tool.Size || !t.Time.Equal(s.Tool.Time) {
		return nil
	}
	for _, was := range s.Programs {
		if now, err := stampOf(root, was.Path); err != nil || now.Size != was.Size || !now.Time.Equal(was.Time) {
			return nil
		}
	}
	seen, settled := map[string]bool{}, false
	same := func(rel string, info fs.FileInfo) bool {
		f, ok := s.Files[rel]
		if !ok || f.Size != info.Size() {
			return false
		}
		seen[rel] = true // folders of inputs may overlap
		if f.Time.Equal(info.ModTime()) && info.ModTime().Before(s.Taken.Add(-racy)) {
			return true
		}
		sum, err := sumFile(filepath.Join(root, filepath.FromSlash(rel)))
		if err != nil || sum != f.Sum {
			return false
		}
		s.Files[rel] = file{stamp{Size: info.Size(), Time: info.ModTime()}, sum}
		settled = settled || info.ModTime().Before(began.Add(-racy))
		return true
	}
	if !slices.Equal(kernelfile.Names(filepath.Join(root, filepath.FromSlash(s.Kernels.Path))), s.Kernels.Names) {
		return nil
	}
	if !s.walkTracked(root, same) || len(seen) != len(s.Files) {
		return nil
	}
	if settled { // the next run compares time stamps only
		s.Taken = began
		s.write(path)
	}
	return &Result{Project: &Project{Findings: &diag.List{}, Border: &diag.List{}}, Operators: s.Operators, UpToDate: true}
}

// walkTracked calls f for every file that a run depends on or makes, until f returns false. It returns false
// if f did, or if a file cannot be read.
func (s *snapshot) walkTracked(root string, f func(rel string, info fs.FileInfo) bool) bool {
	single := []string{config.Name, "go.mod"}
	for _, name := range s.Kernels.Names {
		single = append(single, path.Join(s.Kernels.Path, name))
	}
	for _, rel := range single {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(rel)))
		if err != nil || !f(rel, info) {
			return false
		}
	}
	ok := true
	for _, dir := range s.Folders {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir.Path)), func(p string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && e == nil {
				return nil // a plug-in may have made no files
			}
			if err != nil || !ok {
				return err
			}
			if e.IsDir() || dir.Ext != "" && filepath.Ext(p) != dir.Ext {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			if !f(filepath.ToSlash(rel), info) {
				ok = false
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			return false
		}
	}
	return ok
}

func sumFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	return sum(data), err
}

func sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// sums holds the checksums of what a run read and wrote, by path relative to the module's root. Later changes of the
// files do not affect it.
type sums map[string]string

// addFiles adds files that the run has not read. If a file changes before the run reads it, the next run
// finds another checksum.
func (s sums) addFiles(root string, rels ...string) {
	for _, rel := range rels {
		if sum, err := sumFile(filepath.Join(root, rel)); err == nil {
			s[rel] = sum
		}
	}
}

// addFolder adds the files of a folder, or a file.
func (s sums) addFolder(root, folder string) error {
	return filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		s.addFiles(root, filepath.ToSlash(rel))
		return nil
	})
}

// remember writes the snapshot of a run that succeeded. It ignores errors: without a snapshot, the next run takes
// longer.
func (p *Project) remember(operators int, began time.Time) {
	root := p.Config.Root
	path, err := cachePath(root)
	if err != nil {
		return
	}
	t, err := tool()
	if err != nil {
		return
	}
	s := snapshot{Format: cacheFormat, Tool: t, Taken: began, Operators: operators, Folders: []folder{{p.Config.Specs, ".toml"}}, Files: map[string]file{}}
	if len(p.kernels.Files) < len(p.kernels.Names) {
		return // an unreadable file may declare a kernel once it is readable
	}
	s.Kernels = kernelFiles{p.Config.Kernels, p.kernels.Names}
	makers, err := p.makers(nil)
	if err != nil {
		return
	}
	for _, out := range slices.Sorted(maps.Keys(makers)) {
		s.Folders = append(s.Folders, folder{Path: out})
	}
	for _, a := range p.Config.Plugins {
		program, err := stampOf(root, a.Command[0])
		if err != nil {
			return
		}
		s.Programs = append(s.Programs, program)
		for _, in := range a.Inputs {
			s.Folders = append(s.Folders, folder{Path: in})
		}
	}
	clean := s.walkTracked(root, func(rel string, info fs.FileInfo) bool {
		sum, ok := p.sums[rel]
		if !ok {
			// The run has not read the file. A time stamp that is old enough shows that nothing writes it.
			var err error
			sum, err = sumFile(filepath.Join(root, filepath.FromSlash(rel)))
			ok = err == nil && filepath.Ext(rel) != ".toml" && info.ModTime().Before(began.Add(-racy))
		}
		s.Files[rel] = file{stamp{Size: info.Size(), Time: info.ModTime()}, sum}
		return ok
	})
	if clean {
		s.write(path)
	}
}

// write writes the snapshot, if it can.
func (s *snapshot) write(path string) {
	data, err := json.Marshal(s)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "tmp-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(data)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
}
