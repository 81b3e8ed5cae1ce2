package opgen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// stepsOf begins the keys under which the metadata of a file holds how many steps programs have run.
const stepsOf = "steps of "

// A FileOption changes how SaveVariables writes variables and how LoadVariables reads them.
type FileOption func(*fileOptions)

type fileOptions struct {
	names   map[string]string
	limit   int64
	convert bool
}

// Names sets the names of variables in files: the keys are names of variables, the values names in files. A
// model that another program has trained has other names for its weights.
func Names(names map[string]string) FileOption { return func(o *fileOptions) { o.names = names } }

// MaxFile makes SaveVariables write several files of at most so many bytes of tensors, unless a single tensor
// is larger. The path is that of their index then, and ends with .safetensors.index.json. LoadVariables reads
// such an index without it.
func MaxFile(bytes int64) FileOption { return func(o *fileOptions) { o.limit = bytes } }

// Convert makes LoadVariables convert the elements of floating-point tensors to the types of variables, where
// they differ: from f16, bf16, f32, f64 and the types of 8 bits, such as F8_E4M3 and F8_E5M2, to f16, bf16,
// f32 and f64. Numbers are rounded to the nearest, and to even where two are as near. A finite number that
// would become infinite is an error. Scales, which files of quantized models hold beside such tensors, are
// not applied.
func Convert() FileOption { return func(o *fileOptions) { o.convert = true } }

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

// SaveVariables writes all variables of the session to a file in the safetensors format: weights, and what
// optimizers keep. The steps that programs have run go with them, so a session that loads the file trains on
// with the same results. The file is written under another name and then renamed: after an error the path
// holds what it held before. All ranks of a session save together: rank 0 writes the variables of all.
func (s *Session) SaveVariables(path string, opts ...FileOption) error {
	o := newFileOptions(opts)
	f, err := s.file(o, nil)
	if err != nil {
		return s.ranks.fail(err)
	}
	return s.ranks.write(func() error {
		if o.limit > 0 {
			return writeShards(path, f, o.limit)
		}
		return writeFile(path, f)
	})
}

// file returns the variables and how many steps programs have run, with more metadata. Of several ranks, only
// the first gets those of others.
func (s *Session) file(o fileOptions, more map[string]string) (*safetensors.File, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	f := &safetensors.File{Metadata: map[string]string{writerOf: version.Version}, Tensors: map[string]safetensors.Tensor{}}
	maps.Copy(f.Metadata, more)
	for name, c := range s.counters {
		f.Metadata[stepsOf+name] = strconv.FormatUint(c.steps, 10)
	}
	for _, variable := range slices.Sorted(maps.Keys(s.variables)) {
		v := s.variables[variable]
		data, err := s.ranks.bytes(v, s.engine.VariableBytes)
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

// Variables returns the values of the variables of the session, by their names. All ranks of a session call
// it together; rank 0 gets those of all, and others their own.
func (s *Session) Variables() (map[string]safetensors.Tensor, error) {
	f, err := s.file(fileOptions{}, nil)
	if err != nil {
		return nil, s.ranks.fail(err)
	}
	return f.Tensors, nil
}

// LoadVariables gives the variables of the session the values in a file that SaveVariables wrote, and its
// programs the steps that they had run. Load the programs first. The file must hold every variable of the
// session with its shape and type, or with another type if the option Convert is given; it may hold others,
// such as what an optimizer keeps, which a session for inference does not need, also of types that opgen does
// not know. If something does not fit, or the file is damaged, the error lists all of it, and no variable has
// changed. Memory is made for variables only, after their sizes in the file were checked.
func (s *Session) LoadVariables(path string, opts ...FileOption) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	o := newFileOptions(opts)
	f, err := readVariables(path, s.wants(o))
	if err != nil {
		return err
	}
	return s.setVariables(path, f, o)
}

// SetVariables gives the variables of the session values, such as those of a network that was read from
// another format. Load the programs first. The values must be those of all variables, each with its shape and
// type; there may be others. If something does not fit, the error lists all of it, and no variable has
// changed.
func (s *Session) SetVariables(values map[string]safetensors.Tensor) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.setVariables("the values", &safetensors.File{Tensors: values}, fileOptions{})
}

// wants returns a function that says whether a tensor of a file fits a variable. The session is locked.
func (s *Session) wants(o fileOptions) func(name string, t safetensors.Tensor) bool {
	variables := map[string][]string{} // by the name in the file
	for name := range s.variables {
		variables[o.name(name)] = append(variables[o.name(name)], name)
	}
	return func(name string, t safetensors.Tensor) bool {
		return slices.ContainsFunc(variables[name], func(v string) bool { return o.fits(t, s.variables[v]) })
	}
}

// fits reports whether a tensor of a file may become the value of a variable.
func (o *fileOptions) fits(t safetensors.Tensor, v graph.Tensor) bool {
	return slices.Equal(t.Shape, v.Shape()) && (t.Type == v.Type() || o.convert && safetensors.Converts(t.Type, v.Type()))
}

// setVariables gives the variables the values in a file, of which the tensors that fit were read. The session
// is locked.
func (s *Session) setVariables(path string, f *safetensors.File, o fileOptions) error {
	if len(s.variables) == 0 {
		return fmt.Errorf("%s: want a session with variables, got none: load a program first", path)
	}
	found := map[string]safetensors.Tensor{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.variables)) {
		v := s.variables[name]
		stored := o.name(name)
		t, ok := f.Tensors[stored]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got none", path, stored, v.Operand()))
		case !o.fits(t, v):
			hint := ""
			if all := (&fileOptions{convert: true}); all.fits(t, v) {
				hint = " (the option opgen.Convert converts it)"
			}
			errs = append(errs, fmt.Errorf("%s: variable %s: want %v, got %s%v%s", path, stored, v.Operand(), t.TypeName(), t.Shape, hint))
		default:
			t, err := t.As(v.Type())
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: variable %s: %w", path, stored, err))
			}
			found[name] = t
		}
	}
	counters, err := countersOf(path, f)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for name, t := range found {
		if v := s.variables[name]; s.ranks.elsewhere(v.Device()) {
			s.ranks.note(v)
			continue
		}
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

// CopyVariables copies variables: the keys are names of variables, the values names of the variables from
// which they are copied, of the same type and shape. A weight gets its moving average, for example. All
// values are those from before the call, so two variables may be exchanged. If something does not fit, the
// error lists all of it, and no variable has changed.
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
		case s.ranks.elsewhere(to.Device()) != s.ranks.elsewhere(source.Device()):
			errs = append(errs, fmt.Errorf("variable %s: want a value of a variable on the same rank, got %s", name, from[name]))
		case s.ranks.elsewhere(to.Device()):
			s.ranks.note(to)
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
