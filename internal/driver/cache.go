package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/parallel"
)

// A run keeps checksums of its inputs and outputs in the user's cache folder. The next run does nothing if
// all of them, and opgen itself, are the same. Sizes and time stamps would be faster to compare, but archives
// and build systems set them, so that equal ones do not tell that a file is the same. Results do not depend
// on the cache: without it, a run does all the work.

const cacheFormat = 10

type snapshot struct {
	Format    int               `json:"format"`
	Tool      string            `json:"tool"` // checksum of opgen
	Operators int               `json:"operators"`
	Folders   []folder          `json:"folders"`
	Kernels   kernelFiles       `json:"kernels"`
	Single    []string          `json:"single,omitempty"`   // other files that the run read or made, such as those of device code
	Uses      *usedFiles        `json:"uses,omitempty"`     // nil if the module uses no others
	Programs  map[string]string `json:"programs,omitempty"` // checksums of plug-ins, by name
	Files     map[string]string `json:"files"`              // checksums by path relative to the module's root, with slashes
}

// folder is a folder with tracked files: those with an extension, or all if Ext is "".
type folder struct {
	Path string `json:"path"`
	Ext  string `json:"ext,omitempty"`
	Made bool   `json:"made,omitempty"` // by opgen, which follows no links there
}

// kernelFiles are the files of kernels, which decide which kernels are derived from formulas, and which may
// have findings.
type kernelFiles struct {
	Path  string   `json:"path"`
	Names []string `json:"names"`
}

// usedFiles are the files, besides specs, that say where used modules are and what their specs are.
type usedFiles struct {
	Settings string   `json:"settings"` // of the go command
	Names    []string `json:"names"`
}

// racy is how much older than the run a time stamp must be to show that nothing writes the file, since some
// file systems count in steps of two seconds.
const racy = 2 * time.Second

func cachePath(root string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, "opgen", hex.EncodeToString(sum[:12])+".json"), nil
}

// toolMeanwhile works out the checksum of opgen while other work goes on, and returns a function that waits
// for it.
func toolMeanwhile() func() (string, error) {
	var s string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err = tool()
	}()
	return func() (string, error) {
		<-done
		return s, err
	}
}

// tool returns the checksum of opgen.
func tool() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return sumFile(exe)
}

// sumProgram returns the checksum of a program: of a name to look up in PATH, or of the path of a file. A
// relative path begins at root.
func sumProgram(root, program string) (string, error) {
	file := program
	if filepath.Base(program) == program {
		found, err := exec.LookPath(program)
		if err != nil {
			return "", err
		}
		file = found
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	return sumFile(file)
}

// upToDate returns the result of a run if nothing has changed since the last run, or else nil.
func upToDate(root string) *Result {
	path, err := cachePath(root)
	if err != nil {
		return nil
	}
	data, err := input.File(path)
	if err != nil {
		return nil
	}
	var s snapshot
	if json.Unmarshal(data, &s) != nil || s.Format != cacheFormat || !s.sameTools(root) {
		return nil
	}
	if s.Uses != nil && s.Uses.Settings != goSettings(root) {
		return nil
	}
	if !slices.Equal(kernelfile.Names(filepath.Join(root, filepath.FromSlash(s.Kernels.Path))), s.Kernels.Names) {
		return nil
	}
	now, ok := s.tracked(root)
	if !ok || len(now) != len(s.Files) {
		return nil
	}
	for _, rel := range now {
		if _, known := s.Files[rel]; !known {
			return nil
		}
	}
	if !sameSums(root, now, s.Files) {
		return nil
	}
	return &Result{Project: &Project{Findings: &diag.List{}, Border: &diag.List{}}, Operators: s.Operators, UpToDate: true}
}

// sameTools reports whether opgen and the programs of plug-ins are the same.
func (s *snapshot) sameTools(root string) bool {
	if sum, err := tool(); err != nil || sum != s.Tool {
		return false
	}
	for name, was := range s.Programs {
		if sum, err := sumProgram(root, name); err != nil || sum != was {
			return false
		}
	}
	return true
}

// sameSums reports whether files have the given checksums.
func sameSums(root string, rels []string, want map[string]string) bool {
	var differs atomic.Bool
	parallel.Do(len(rels), func(i int) {
		if differs.Load() {
			return
		}
		if sum, err := sumFile(filepath.Join(root, filepath.FromSlash(rels[i]))); err != nil || sum != want[rels[i]] {
			differs.Store(true)
		}
	})
	return !differs.Load()
}

// tracked lists the files that a run depends on or makes, each once. It returns false if a folder cannot be
// read, or if there is a link among generated files.
func (s *snapshot) tracked(root string) (rels []string, ok bool) {
	seen := map[string]bool{}
	add := func(rel string) {
		if !seen[rel] { // folders of inputs may overlap
			seen[rel] = true
			rels = append(rels, rel)
		}
	}
	for _, rel := range []string{config.Name, "go.mod"} {
		add(rel)
	}
	for _, name := range s.Kernels.Names {
		add(path.Join(s.Kernels.Path, name))
	}
	if s.Uses != nil {
		for _, name := range s.Uses.Names {
			add(name)
		}
	}
	for _, name := range s.Single {
		add(name)
	}
	for _, f := range s.Folders {
		err := f.walk(root, func(p string) error {
			rel, err := filepath.Rel(root, p)
			if err == nil && (f.Ext == "" || filepath.Ext(p) == f.Ext) {
				add(filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			return nil, false
		}
	}
	return rels, true
}

// walk calls visit for the files of a folder, or for a file. What a plug-in makes may not be there.
func (f folder) walk(root string, visit func(string) error) error {
	dir := filepath.Join(root, filepath.FromSlash(f.Path))
	if !f.Made {
		return walkInput(dir, visit)
	}
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && e == nil:
			return nil
		case err != nil || e.IsDir():
			return err
		case !e.Type().IsRegular():
			return fmt.Errorf("%s: want a regular file", p)
		}
		return visit(p)
	})
}

// walkInput calls visit for the files of a folder, or for a file.
func walkInput(dir string, visit func(string) error) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return visit(dir)
	}
	return input.Walk(dir, visit)
}

func sumFile(path string) (string, error) {
	h := sha256.New()
	err := input.Copy(h, path)
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

func sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// sums holds the checksums of what a run read and wrote, by path relative to the module's root. Later changes
// of the files do not affect it.
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
	return walkInput(filepath.Join(root, filepath.FromSlash(folder)), func(p string) error {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		sum, err := sumFile(p)
		s[filepath.ToSlash(rel)] = sum
		return err
	})
}

// remember writes the snapshot of a run that succeeded. It ignores errors: without a snapshot, the next run
// takes longer.
func (p *Project) remember(operators int, began time.Time, tool func() (string, error)) {
	root := p.Config.Root
	path, err := cachePath(root)
	if err != nil {
		return
	}
	t, err := tool()
	if err != nil {
		return
	}
	s := snapshot{Format: cacheFormat, Tool: t, Operators: operators, Folders: []folder{{Path: p.Config.Specs, Ext: ".toml"}},
		Programs: map[string]string{}, Files: map[string]string{}}
	if len(p.kernels.Files) < len(p.kernels.Names) {
		return // an unreadable file may declare a kernel once it is readable
	}
	s.Kernels = kernelFiles{p.Config.Kernels, p.kernels.Names}
	makers, err := p.makers(nil)
	if err != nil {
		return
	}
	for _, out := range slices.Sorted(maps.Keys(makers)) {
		s.Folders = append(s.Folders, folder{Path: out, Made: true})
	}
	for _, a := range p.Config.Plugins {
		if s.Programs[a.Command[0]], err = sumProgram(root, a.Command[0]); err != nil {
			return
		}
		for _, in := range a.Inputs {
			s.Folders = append(s.Folders, folder{Path: in})
		}
	}
	if !p.trackUsed(&s) {
		return
	}
	rels, ok := s.tracked(root)
	if !ok {
		return
	}
	for _, rel := range rels {
		if s.Files[rel], ok = p.sumOf(rel, began); !ok {
			return
		}
	}
	for rel, sum := range p.sums { // so that no input is forgotten, whatever reads it
		if _, tracked := s.Files[rel]; !tracked {
			s.Single, s.Files[rel] = append(s.Single, rel), sum
		}
	}
	slices.Sort(s.Single)
	s.write(path)
}

// sumOf returns the checksum that a tracked file had when the run read or wrote it. A file that the run has
// not read, such as one of others among generated ones, counts if its time stamp shows that nothing writes
// it.
func (p *Project) sumOf(rel string, began time.Time) (sum string, ok bool) {
	if sum, ok := p.sums[rel]; ok {
		return sum, true
	}
	file := filepath.Join(p.Config.Root, filepath.FromSlash(rel))
	info, err := os.Stat(file)
	if err != nil || filepath.Ext(rel) == ".toml" || !info.ModTime().Before(began.Add(-racy)) {
		return "", false
	}
	sum, err = sumFile(file)
	return sum, err == nil
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
