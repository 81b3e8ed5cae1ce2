package opgen

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/version"
	"github.com/opgen/opgen/runtime/safetensors"
)

// stepsOf begins the keys under which the metadata of a file holds how many steps programs have run.
const stepsOf = "steps of "

// SaveVariables writes all variables of the session to a file in the safetensors format: weights, and what optimizers
// keep. The steps that programs have run go with them, so a session that loads the file trains on with the same
// results. The file is written under another name and then renamed: after an error the path holds what it held before.
func (s *Session) SaveVariables(path string) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	f := safetensors.File{Metadata: map[string]string{"opgen": version.Version}, Tensors: map[string]safetensors.Tensor{}}
	for name, c := range s.counters {
		f.Metadata[stepsOf+name] = strconv.FormatUint(c.steps, 10)
	}
	for name, v := range s.variables {
		data, err := s.engine.VariableBytes(name)
		if err != nil {
			return fmt.Errorf("save variable %s: %w", name, err)
		}
		f.Tensors[name] = safetensors.Tensor{Type: v.Type(), Shape: v.Shape(), Data: data}
	}
	data, err := f.Encode()
	if err != nil {
		return err
	}
	return replace(path, data)
}

// replace writes a file under another name, and renames it when it is whole.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// LoadVariables gives the variables of the session the values in a file that SaveVariables wrote, and its programs the
// steps that they had run. Load the programs first. The file must hold every variable of the session with its type and
// shape; it may hold others, such as what an optimizer keeps, which a session for inference does not need. If
// something does not fit, the error lists all of it, and no variable has changed.
func (s *Session) LoadVariables(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if len(s.variables) == 0 {
		return fmt.Errorf("%s: want a session with variables, got none: load a program first", path)
	}
	names := slices.Sorted(maps.Keys(s.variables))
	var errs []error
	for _, name := range names {
		v := s.variables[name]
		if t, ok := f.Tensors[name]; !ok {
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got none", path, name, v.Operand()))
		} else if t.Type != v.Type() || !slices.Equal(t.Shape, v.Shape()) {
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got %v%v", path, name, v.Operand(), t.Type, t.Shape))
		}
	}
	counters := map[string]*counter{}
	for key, value := range f.Metadata {
		if name, ok := strings.CutPrefix(key, stepsOf); ok {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", path, key, err))
			}
			counters[name] = &counter{steps: n}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, name := range names {
		if err := s.engine.SetVariableBytes(name, f.Tensors[name].Data); err != nil {
			return fmt.Errorf("%s: variable %s: %w", path, name, err)
		}
	}
	for name, c := range counters {
		if s.counters[name] == nil {
			s.counters[name] = c
		}
		s.counters[name].steps = c.steps
	}
	return nil
}
