package opgen

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/version"
	"github.com/opgen/opgen/runtime/safetensors"
)

// stepsOf begins the keys under which the metadata of a file holds how many steps programs have run.
const stepsOf = "steps of "

// sumOf is the key under which the metadata of a file holds the checksum of everything else in it.
const sumOf = "crc32c"

// A FileOption changes how SaveVariables writes variables and how LoadVariables reads them.
type FileOption func(*fileOptions)

type fileOptions struct {
	names map[string]string
	limit int64
}

// Names gives variables other names in files: the keys are names of variables, the values names in files. A model that
// another program has trained names its weights otherwise.
func Names(names map[string]string) FileOption { return func(o *fileOptions) { o.names = names } }

// MaxFile makes SaveVariables write several files of at most so many bytes of tensors, unless a single tensor is larger. The path is that
// of their index then, and ends with .safetensors.index.json. LoadVariables reads such an index without it.
func MaxFile(bytes int64) FileOption { return func(o *fileOptions) { o.limit = bytes } }

func newFileOptions(opts []FileOption) fileOptions {
	var o fileOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// name returns the name of a variable in files.
func (o *fileOptions) name(variable string) string {
	if name, ok := o.names[variable]; ok {
		return name
	}
	return variable
}

// SaveVariables writes all variables of the session to a file in the safetensors format: weights, and what optimizers
// keep. The steps that programs have run go with them, so a session that loads the file trains on with the same
// results. The file is written under another name and then renamed: after an error the path holds what it held before.
func (s *Session) SaveVariables(path string, opts ...FileOption) error {
	o := newFileOptions(opts)
	f, err := s.file(o, nil)
	if err != nil {
		return err
	}
	if o.limit > 0 {
		return writeShards(path, f, o.limit)
	}
	return writeFile(path, f)
}

// file returns the variables and how many steps programs have run, with more metadata.
func (s *Session) file(o fileOptions, more map[string]string) (*safetensors.File, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	f := &safetensors.File{Metadata: map[string]string{"opgen": version.Version}, Tensors: map[string]safetensors.Tensor{}}
	maps.Copy(f.Metadata, more)
	for name, c := range s.counters {
		f.Metadata[stepsOf+name] = strconv.FormatUint(c.steps, 10)
	}
	for variable, v := range s.variables {
		data, err := s.engine.VariableBytes(variable)
		if err != nil {
			return nil, fmt.Errorf("save variable %s: %w", variable, err)
		}
		name := o.name(variable)
		if _, twice := f.Tensors[name]; twice {
			return nil, fmt.Errorf("save variable %s: want a name in the file that no other variable has, got %s", variable, name)
		}
		f.Tensors[name] = safetensors.Tensor{Type: v.Type(), Shape: v.Shape(), Data: data}
	}
	return f, nil
}

// writeFile writes a file with its checksum.
func writeFile(path string, f *safetensors.File) error {
	f.Metadata[sumOf] = checksum(f)
	data, err := f.Encode()
	if err != nil {
		return err
	}
	return replace(path, data)
}

// checksum returns the CRC-32C of the metadata, without the checksum, and of the tensors, in order of names.
func checksum(f *safetensors.File) string {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if key != sumOf {
			fmt.Fprintf(h, "%q=%q\n", key, f.Metadata[key])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		t := f.Tensors[name]
		fmt.Fprintf(h, "%q %v%v\n", name, t.Type, t.Shape)
		h.Write(t.Data)
	}
	return fmt.Sprintf("%08x", h.Sum32())
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
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir writes the names in a folder to the disk, so that they outlast a loss of power. Windows does so without it.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// LoadVariables gives the variables of the session the values in a file that SaveVariables wrote, and its programs the
// steps that they had run. Load the programs first. The file must hold every variable of the session with its type and
// shape; it may hold others, such as what an optimizer keeps, which a session for inference does not need. If
// something does not fit, or the file is damaged, the error lists all of it, and no variable has changed.
func (s *Session) LoadVariables(path string, opts ...FileOption) error {
	read := readVariables
	if strings.HasSuffix(path, indexSuffix) {
		read = readShards
	}
	f, err := read(path)
	if err != nil {
		return err
	}
	return s.setVariables(path, f, newFileOptions(opts))
}

// readVariables reads a file and compares its checksum. Files of other programs have none.
func readVariables(path string) (*safetensors.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if want, ok := f.Metadata[sumOf]; ok {
		if got := checksum(f); got != want {
			return nil, fmt.Errorf("%s is damaged: want the checksum %s, got %s", path, want, got)
		}
	}
	return f, nil
}

// setVariables gives the variables the values in a file.
func (s *Session) setVariables(path string, f *safetensors.File, o fileOptions) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if len(s.variables) == 0 {
		return fmt.Errorf("%s: want a session with variables, got none: load a program first", path)
	}
	found := map[string]safetensors.Tensor{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.variables)) {
		v := s.variables[name]
		stored := o.name(name)
		if t, ok := f.Tensors[stored]; !ok {
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got none", path, stored, v.Operand()))
		} else if t.Type != v.Type() || !slices.Equal(t.Shape, v.Shape()) {
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got %v%v", path, stored, v.Operand(), t.Type, t.Shape))
		} else {
			found[name] = t
		}
	}
	counters, err := countersOf(path, f)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for name, t := range found {
		if err := s.engine.SetVariableBytes(name, t.Data); err != nil {
			return fmt.Errorf("%s: variable %s: %w", path, name, err)
		}
	}
	for name, steps := range counters {
		if s.counters[name] == nil {
			s.counters[name] = &counter{}
		}
		s.counters[name].steps = steps
	}
	return nil
}

// CopyVariables gives variables the values that others have: the keys are names of variables, the values names of those
// that they are copied from, of the same type and shape. A weight gets its moving average, for example. All values are those from before
// the call, so two variables may change places. If something does not fit, the error lists all of it, and no variable has changed.
func (s *Session) CopyVariables(from map[string]string) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	values := map[string][]byte{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(from)) {
		to, toOK := s.variables[name]
		source, sourceOK := s.variables[from[name]]
		switch {
		case !toOK:
			errs = append(errs, s.noVariable(name))
		case !sourceOK:
			errs = append(errs, fmt.Errorf("variable %s: %w", name, s.noVariable(from[name])))
		case to.Type() != source.Type() || !slices.Equal(to.Shape(), source.Shape()):
			errs = append(errs, fmt.Errorf("variable %s: want a value of %v, got %s of %v", name, to.Operand(), from[name], source.Operand()))
		default:
			data, err := s.engine.VariableBytes(from[name])
			values[name], errs = data, append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("copy variables: %w", err)
	}
	for name, data := range values {
		if err := s.engine.SetVariableBytes(name, data); err != nil {
			return fmt.Errorf("copy variables: variable %s: %w", name, err)
		}
	}
	return nil
}

// noVariable returns the error that the session has no variable of a name.
func (s *Session) noVariable(name string) error {
	hint := ""
	if n := nearest.Name(name, slices.Collect(maps.Keys(s.variables))); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return fmt.Errorf("want a variable of a loaded program, got %q%s", name, hint)
}

// countersOf returns how many steps programs had run, by the names of their counters.
func countersOf(path string, f *safetensors.File) (map[string]uint64, error) {
	counters := map[string]uint64{}
	var errs []error
	for key, value := range f.Metadata {
		if name, ok := strings.CutPrefix(key, stepsOf); ok {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", path, key, err))
			}
			counters[name] = n
		}
	}
	return counters, errors.Join(errs...)
}
