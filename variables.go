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
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// stepsOf begins the keys under which the metadata of a file holds how many steps programs have run.
const stepsOf = "steps of "

// SaveVariables writes all variables of the session to a file in the safetensors format: weights, and what optimizers
// keep. The steps that programs have run go with them, so a session that loads the file trains on with the same
// results. The file is written under another name and then renamed: after an error the path holds what it held before.
func (s *Session) SaveVariables(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := safetensors.File{Metadata: map[string]string{"opgen": version.Version}, Tensors: map[string]safetensors.Tensor{}}
	for name, c := range s.counters {
		f.Metadata[stepsOf+name] = strconv.FormatUint(c.steps, 10)
	}
	for name, v := range s.variables {
		t, err := storages[v.Type().Host()].read(s.engine, v)
		if err != nil {
			return fmt.Errorf("save variable %s: %w", name, err)
		}
		f.Tensors[name] = t
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
	s.mu.Lock()
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
		v := s.variables[name]
		if err := storages[v.Type().Host()].write(s.engine, v, f.Tensors[name]); err != nil {
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

// storage moves a variable between an engine and a file.
type storage struct {
	read  func(*engine.Engine, graph.Tensor) (safetensors.Tensor, error)
	write func(*engine.Engine, graph.Tensor, safetensors.Tensor) error
}

// storages holds, by the type in which engines hand out elements, how variables are moved.
var storages = map[dtype.Type]storage{
	dtype.Bool: storageOf[bool](),
	dtype.I8:   storageOf[int8](),
	dtype.I16:  storageOf[int16](),
	dtype.I32:  storageOf[int32](),
	dtype.I64:  storageOf[int64](),
	dtype.U8:   storageOf[uint8](),
	dtype.U16:  storageOf[uint16](),
	dtype.U32:  storageOf[uint32](),
	dtype.U64:  storageOf[uint64](),
	dtype.F32:  storageOf[float32](),
	dtype.F64:  storageOf[float64](),
}

func storageOf[T dtype.Element]() storage {
	return storage{
		read: func(e *engine.Engine, v graph.Tensor) (safetensors.Tensor, error) {
			elements, dims, err := engine.Variable[T](e, v.Name())
			if err != nil {
				return safetensors.Tensor{}, err
			}
			if v.Type() != v.Type().Host() {
				return safetensors.Halves(v.Type(), dims, any(elements).([]float32))
			}
			return safetensors.Of(dims, elements)
		},
		write: func(e *engine.Engine, v graph.Tensor, t safetensors.Tensor) error {
			elements, err := safetensors.Elements[T](t)
			if err != nil {
				return err
			}
			return engine.SetVariable(e, v.Name(), elements)
		},
	}
}
