package opgen

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

// Keys of the metadata of files. What opgen writes has a checksum: a file with one of the other keys and
// without it is damaged.
const (
	sumOf    = "crc32c" // the checksum of everything else
	writerOf = "opgen"  // the version that wrote the file
	setOf    = "shards" // of one of several files: the checksum of all of them, which is in their names
)

// digest computes a checksum: the CRC-32C of metadata, without the checksum, and of tensors in order of their
// names.
type digest struct {
	sum uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newDigest(metadata map[string]string) *digest {
	d := &digest{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key != sumOf {
			fmt.Fprintf(d, "%q=%q\n", key, metadata[key])
		}
	}
	return d
}

// tensor adds the name, the type and the shape of a tensor. Its data follows.
func (d *digest) tensor(name string, t safetensors.Tensor) {
	fmt.Fprintf(d, "%q %s%v\n", name, t.TypeName(), t.Shape)
}

// Write adds bytes.
func (d *digest) Write(data []byte) (int, error) {
	d.sum = crc32.Update(d.sum, castagnoli, data)
	return len(data), nil
}

func (d *digest) String() string { return fmt.Sprintf("%08x", d.sum) }

// checksum returns the checksum of a file.
func checksum(f *safetensors.File) string {
	d := newDigest(f.Metadata)
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		t := f.Tensors[name]
		d.tensor(name, t)
		d.Write(t.Data)
	}
	return d.String()
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

// replace writes a file under another name, which ends with .tmp, and renames it when it is whole.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
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

// syncDir writes the names in a folder to the disk, so that they outlast a loss of power. Windows does so
// without it.
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

// part is a file that is read: the only one, or one of those of an index.
type part struct {
	path string
	*safetensors.Reader
	sum *digest // nil if the file has no checksum
}

// openPart opens a file and reads its header.
func openPart(path string) (*part, error) {
	r, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, Reader: r}
	p.sum, err = begin(path, r.Metadata)
	if err != nil {
		r.Close()
		return nil, err
	}
	return p, nil
}

// begin begins to compute a checksum, if the metadata has one to compare with. It is an error if there is
// none, though opgen wrote the file: then what says so is damaged.
func begin(path string, metadata map[string]string) (*digest, error) {
	if _, ok := metadata[sumOf]; ok {
		return newDigest(metadata), nil
	}
	for _, key := range []string{writerOf, setOf} {
		if _, ok := metadata[key]; ok {
			return nil, fmt.Errorf("%s is damaged: want a checksum, as its metadata has %q, got none", path, key)
		}
	}
	return nil, nil
}

// compare compares a computed checksum with the one in the metadata, if there is one.
func (d *digest) compare(path, what string, metadata map[string]string) error {
	if want := metadata[sumOf]; d != nil && d.String() != want {
		return fmt.Errorf("%s is damaged: want %s %s, got %s", path, what, want, d)
	}
	return nil
}

// readVariables reads a file, or the files of an index, and compares checksums. It keeps the data of the
// tensors for which keep returns true. It makes no memory for others. Files of other programs have no
// checksums: of these it reads what is kept, and the headers.
func readVariables(path string, keep func(name string, t safetensors.Tensor) bool) (f *safetensors.File, err error) {
	if strings.HasSuffix(path, indexSuffix) {
		return readShards(path, keep)
	}
	p, err := openPart(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	tensors, err := read([]*part{p}, nil, nil, keep)
	if err != nil {
		return nil, err
	}
	return &safetensors.File{Metadata: p.Metadata, Tensors: tensors}, p.sum.compare(path, "the checksum", p.Metadata)
}

// read reads the tensors of files in order of their names, as checksums take them. Of several files, the one
// that has a tensor is as owner says, and a checksum of all owned tensors goes to all, if that is not nil.
func read(parts []*part, owner map[string]*part, all *digest, keep func(name string, t safetensors.Tensor) bool) (map[string]safetensors.Tensor, error) {
	having := map[string][]*part{}
	for _, p := range parts {
		for _, name := range p.Names() {
			having[name] = append(having[name], p)
		}
	}
	tensors := map[string]safetensors.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(having)) {
		for _, p := range having[name] {
			owned := owner == nil || owner[name] == p
			var sums []io.Writer
			t, _ := p.Describe(name)
			for _, d := range []*digest{p.sum, all} {
				if d != nil && (d == p.sum || owned) {
					d.tensor(name, t)
					sums = append(sums, d)
				}
			}
			var err error
			if owned && keep(name, t) {
				if t, err = p.Read(name); err == nil {
					_, err = io.MultiWriter(sums...).Write(t.Data)
				}
			} else if len(sums) > 0 {
				err = p.Copy(io.MultiWriter(sums...), name)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.path, err)
			}
			if owned {
				tensors[name] = t
			}
		}
	}
	return tensors, nil
}
