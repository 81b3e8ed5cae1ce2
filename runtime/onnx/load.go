// Package onnx runs networks of other systems with the operators of a catalogue.
//
// Load reads a file of [ONNX]. Model.Insert builds the graph of the network for inputs of given types and
// extents: it computes once what depends on constants alone, such as shapes, and maps each other node to an
// operator of the catalogue, as the sections [onnx] of specs say. What has no place there is refused by name:
// *Refused.
//
// [ONNX]: https://onnx.ai
package onnx

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/internal/base/regular"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/task"
)

// Catalogue is what networks are mapped to. Generated packages have it.
type Catalogue struct {
	Operators []*graph.Operator
	// Register adds the operators' kernels, with which Insert computes constants.
	Register func(*task.Registry) error
	Entries  []mapping.Entry
}

// maxFile is the size up to which Load reads files, in bytes: that of messages of protocol buffers. Larger
// networks have their weights in files beside it.
const maxFile int64 = 2 << 30

// Model is a network that was read. It is safe for concurrent use.
type Model struct {
	graph     *onnxpb.GraphProto
	functions map[functionKey]*onnxpb.FunctionProto
	opsets    map[string]int // versions of operator sets, by domain
	ir        int64
	catalogue *catalogue
	dir       string // of external data; "" for none

	mu    sync.Mutex
	parts map[string]map[part][]byte // external data that was read, by file
}

// part is a part of a file with external data.
type part struct{ offset, length int64 }

type functionKey struct{ domain, name string }

// catalogue is a Catalogue with its operators by name.
type catalogue struct {
	*Catalogue
	operators map[string]*graph.Operator
	entries   map[string][]*mapping.Entry // by operator of ONNX
}

func newCatalogue(c *Catalogue) *catalogue {
	out := &catalogue{c, map[string]*graph.Operator{}, map[string][]*mapping.Entry{}}
	for _, o := range c.Operators {
		out.operators[o.Name] = o
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		out.entries[e.Op] = append(out.entries[e.Op], e)
	}
	return out
}

// Load reads a file. Its external data must lie in its folder or below.
func Load(path string, c *Catalogue) (*Model, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("onnx: %s: want at most %d bytes, got %d", path, maxFile, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("onnx: %s: want %d bytes, got %w", path, info.Size(), err)
	}
	m, err := Read(data, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.dir = filepath.Dir(path)
	return m, nil
}

// Read reads the bytes of a file, which must hold all data. The model keeps them: they must not change.
func Read(data []byte, c *Catalogue) (*Model, error) {
	p, err := onnxpb.Model(data)
	if err != nil {
		return nil, err
	}
	if p.GetGraph() == nil {
		return nil, fmt.Errorf("onnx: want a model with a graph, got none")
	}
	m := &Model{graph: p.GetGraph(), functions: map[functionKey]*onnxpb.FunctionProto{}, opsets: opsets(p.GetOpsetImport()), ir: p.GetIrVersion()}
	for _, f := range p.GetFunctions() {
		m.functions[functionKey{domain(f.GetDomain()), f.GetName()}] = f
	}
	m.catalogue = newCatalogue(c)
	return m, nil
}

func opsets(list []*onnxpb.OperatorSetIdProto) map[string]int {
	out := map[string]int{}
	for _, o := range list {
		out[domain(o.GetDomain())] = int(o.GetVersion())
	}
	return out
}

// domain returns the short name of a domain: "" is ai.onnx.
func domain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}

// Port is an input or an output of a network.
type Port struct {
	Name string
	// Type is its element type, dtype.Invalid if there are no tensors of a type that opgen knows. Numbers of
	// 8 bits or less for quantized models are held in wider types: floats as F32, integers as I8 or U8.
	Type dtype.Type
	// Sequence says that it is a list of tensors, and Optional that it may be absent.
	Sequence, Optional bool
	// Extents are those of the tensor, or of each tensor of the list. An extent is -1 where the file leaves
	// it open; Extents is nil if the file states no shape.
	Extents []int
	// Symbols are the names of open extents in the file; "" for an extent without a name.
	Symbols []string

	narrow dtype.Type // the element type in the file, where engines hold it in a wider one
}

// Inputs returns the inputs that the caller must provide: those that have no value in the file.
func (m *Model) Inputs() []Port {
	var out []Port
	for _, v := range m.graph.GetInput() {
		if !slices.ContainsFunc(m.graph.GetInitializer(), func(t *onnxpb.TensorProto) bool { return t.GetName() == v.GetName() }) {
			out = append(out, port(v))
		}
	}
	return out
}

// Outputs returns the outputs.
func (m *Model) Outputs() []Port {
	var out []Port
	for _, v := range m.graph.GetOutput() {
		out = append(out, port(v))
	}
	return out
}

func port(v *onnxpb.ValueInfoProto) Port {
	p := Port{Name: v.GetName()}
	of := v.GetType()
	if optional := of.GetOptionalType(); optional != nil {
		p.Optional, of = true, optional.GetElemType()
	}
	if list := of.GetSequenceType(); list != nil {
		p.Sequence, of = true, list.GetElemType()
	}
	t := of.GetTensorType()
	if t == nil {
		return p
	}
	p.Type, p.narrow = heldType(onnxpb.TensorProto_DataType(t.GetElemType()))
	if t.GetShape() == nil {
		return p
	}
	p.Extents, p.Symbols = []int{}, []string{}
	for _, d := range t.GetShape().GetDim() {
		extent := -1
		if x, ok := d.GetValue().(*onnxpb.TensorShapeProto_Dimension_DimValue); ok {
			extent = int(x.DimValue)
		}
		p.Extents, p.Symbols = append(p.Extents, extent), append(p.Symbols, d.GetDimParam())
	}
	return p
}

// external returns the data of a tensor that lies in another file. Each part of a file is read once, and the
// model keeps it, so that tensors of one part share it. Parts that overlap would be more than the file holds.
func (m *Model) external(t *onnxpb.TensorProto, size int) ([]byte, error) {
	at := map[string]string{}
	for _, e := range t.GetExternalData() {
		at[e.GetKey()] = e.GetValue()
	}
	name := at["location"]
	if m.dir == "" || !filepath.IsLocal(name) {
		return nil, fmt.Errorf("want external data in a file of the model's folder, got %q", name)
	}
	name = filepath.Clean(name)
	offset, err := number(at["offset"], 0)
	if err != nil {
		return nil, err
	}
	length, err := number(at["length"], int64(size))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, ok := m.parts[name][part{offset, length}]; ok && length == int64(size) {
		return data, nil
	}
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := regular.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if length != int64(size) || offset < 0 || offset > info.Size()-length {
		return nil, fmt.Errorf("want %d bytes at %d of %s, which has %d, got %d", size, offset, name, info.Size(), length)
	}
	left := info.Size() - length
	for p := range m.parts[name] {
		left -= p.length
	}
	if left < 0 {
		return nil, fmt.Errorf("want parts of %s, which has %d bytes, that do not overlap, got %d bytes at %d that others have", name, info.Size(), size, offset)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, offset); err != nil {
		return nil, err
	}
	if m.parts == nil {
		m.parts = map[string]map[part][]byte{}
	}
	if m.parts[name] == nil {
		m.parts[name] = map[part][]byte{}
	}
	m.parts[name][part{offset, length}] = data
	return data, nil
}
