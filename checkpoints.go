package opgen

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Checkpoints are files of a folder from which a training goes on after it was interrupted. Each holds what
// [Session.SaveVariables] writes, how many steps the training had made, and notes of the program. One
// training at a time may use a folder.
type Checkpoints struct {
	// Dir is the folder. Save makes it.
	Dir string
	// Keep is how many of the newest checkpoints stay; 0 means 2. The older one serves if a disk damages the
	// newer.
	Keep int
}

// Position is a point of a training from which it can continue.
type Position struct {
	// Step counts the steps that the training has made.
	Step int
	// Notes hold further data of the program, such as the options that must be the same when it continues.
	Notes map[string]string
	// Damaged says which newer checkpoints could not be read, if Resume took an older one.
	Damaged error
}

const (
	stepKey    = "step"   // in the metadata of a checkpoint
	noteOf     = "note: " // begins the keys of notes in the metadata
	filePrefix = "step-"
	fileSuffix = ".safetensors"
)

// path returns the file of a checkpoint. Names have the order of steps.
func (c Checkpoints) path(step int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("%s%012d%s", filePrefix, step, fileSuffix))
}

// Steps returns the steps of the checkpoints in the folder, the newest first. A folder that does not exist
// has none.
func (c Checkpoints) Steps() ([]int, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var steps []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filePrefix)
		if digits, ok = strings.CutSuffix(digits, fileSuffix); !ok || !e.Type().IsRegular() {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && c.path(n) == filepath.Join(c.Dir, e.Name()) {
			steps = append(steps, n)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, nil
}

// Save writes a checkpoint of the session. The file appears under its name when it is whole, so that a
// training that is killed meanwhile has the checkpoints from before. Then Save removes the older ones, and
// what calls that were killed have left. After an error the checkpoints are those from before. All ranks of a
// session save together: rank 0 writes the variables of all.
func (c Checkpoints) Save(s *Session, at Position) error {
	if at.Step < 0 {
		return fmt.Errorf("checkpoint: want a number of steps, got %d", at.Step)
	}
	more := map[string]string{stepKey: strconv.Itoa(at.Step)}
	for key, value := range at.Notes {
		more[noteOf+key] = value
	}
	f, err := s.file(fileOptions{}, more)
	if err == nil {
		err = s.ranks.write(func() error {
			if err := os.MkdirAll(c.Dir, 0o777); err != nil {
				return err
			}
			if err := writeFile(c.path(at.Step), f); err != nil {
				return err
			}
			return c.prune()
		})
	}
	if err != nil {
		return s.ranks.fail(fmt.Errorf("checkpoint of step %d: %w", at.Step, err))
	}
	return nil
}

// prune removes checkpoints but for the newest, and files that interrupted calls of Save have left.
func (c Checkpoints) prune() error {
	steps, err := c.Steps()
	if err != nil {
		return err
	}
	keep := c.Keep
	if keep <= 0 {
		keep = 2
	}
	var errs []error
	for _, step := range steps[min(keep, len(steps)):] {
		errs = append(errs, os.Remove(c.path(step)))
	}
	unfinished, err := filepath.Glob(filepath.Join(c.Dir, filePrefix+"*"+fileSuffix+".*"))
	for _, path := range unfinished {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(append(errs, err)...)
}

// Resume gives the variables of the session the values of the newest checkpoint, and returns where the
// training stood. Load the programs first. Without a checkpoint it changes nothing, and returns the zero
// Position. If the newest one is damaged, Resume takes the one before, and Damaged says why; if all are, it
// returns an error. A checkpoint that is whole but does not fit the programs is an error, too. All ranks of a
// session resume together, from files that all of them can read.
func (c Checkpoints) Resume(s *Session) (Position, error) {
	if err := s.lock(); err != nil {
		return Position{}, err
	}
	defer s.mu.Unlock()
	at, err := c.resume(s)
	if err == nil {
		err = s.ranks.same("the checkpoint to go on from", at.Step)
	}
	if err != nil {
		return Position{}, s.ranks.fail(err)
	}
	return at, nil
}

// resume is Resume for a caller that holds the lock.
func (c Checkpoints) resume(s *Session) (Position, error) {
	steps, err := c.Steps()
	if err != nil {
		return Position{}, err
	}
	var damaged []error
	for _, step := range steps {
		path := c.path(step)
		f, err := readVariables(path, s.wants(fileOptions{}))
		if err == nil && f.Metadata[stepKey] != strconv.Itoa(step) {
			err = fmt.Errorf("%s: want the checkpoint of step %d, got that of step %q", path, step, f.Metadata[stepKey])
		}
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if err := s.setVariables(path, f, fileOptions{}); err != nil {
			return Position{}, err
		}
		at := Position{Step: step, Notes: map[string]string{}, Damaged: errors.Join(damaged...)}
		for key, value := range f.Metadata {
			if key, ok := strings.CutPrefix(key, noteOf); ok {
				at.Notes[key] = value
			}
		}
		return at, nil
	}
	return Position{}, errors.Join(damaged...)
}

// Differs returns an error that lists the notes that are not as wanted: a training goes on with the same bits
// only with the same options.
func (p Position) Differs(want map[string]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got, ok := p.Notes[key]; !ok {
			errs = append(errs, fmt.Errorf("the checkpoint of step %d has no %s, want %s", p.Step, key, want[key]))
		} else if got != want[key] {
			errs = append(errs, fmt.Errorf("the checkpoint of step %d has %s = %s, want %s", p.Step, key, got, want[key]))
		}
	}
	return errors.Join(errs...)
}
