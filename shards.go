package opgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

// indexSuffix ends the path of an index of several files.
const indexSuffix = ".safetensors.index.json"

// shardIndex is the content of an index, as other programs that use the format write it: which file holds which tensor. Values of
// the metadata that are not strings are of no use here.
type shardIndex struct {
	Metadata map[string]any    `json:"metadata"`
	Files    map[string]string `json:"weight_map"`
}

// writeShards writes tensors to several files of at most limit bytes, and then their index. The names of the files hold their common
// checksum, so that files of an earlier index stay until the new index is there.
func writeShards(path string, f *safetensors.File, limit int64) error {
	base, ok := strings.CutSuffix(path, indexSuffix)
	if !ok {
		return fmt.Errorf("%s: want the path of an index, which ends with %s", path, indexSuffix)
	}
	before, err := readIndex(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sum := checksum(f)
	index := shardIndex{Metadata: map[string]any{sumOf: sum}, Files: map[string]string{}}
	for key, value := range f.Metadata {
		index.Metadata[key] = value
	}
	parts := shards(f, limit)
	for i, part := range parts {
		name := fmt.Sprintf("%s-%s-%05d-of-%05d%s", base, sum, i+1, len(parts), fileSuffix)
		if err := writeFile(name, part); err != nil {
			return err
		}
		for tensor := range part.Tensors {
			index.Files[tensor] = filepath.Base(name)
		}
	}
	data, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(path, append(data, '\n')); err != nil {
		return err
	}
	return removeShards(path, before, index)
}

// shards divides the tensors of a file in order of their names.
func shards(f *safetensors.File, limit int64) []*safetensors.File {
	var out []*safetensors.File
	size := int64(0)
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		t := f.Tensors[name]
		if size += int64(len(t.Data)); out == nil || size > limit {
			out = append(out, &safetensors.File{Metadata: map[string]string{}, Tensors: map[string]safetensors.Tensor{}})
			size = int64(len(t.Data))
		}
		out[len(out)-1].Tensors[name] = t
	}
	return out
}

// removeShards removes the files of an index that the one that took its place does not name.
func removeShards(path string, before, now shardIndex) error {
	stay := slices.Collect(maps.Values(now.Files))
	var errs []error
	gone := map[string]bool{}
	for _, name := range before.Files {
		if !slices.Contains(stay, name) && !gone[name] {
			gone[name] = true
			errs = append(errs, os.Remove(filepath.Join(filepath.Dir(path), name)))
		}
	}
	return errors.Join(errs...)
}

// readIndex reads an index. Its files lie in its folder.
func readIndex(path string) (shardIndex, error) {
	var index shardIndex
	data, err := os.ReadFile(path)
	if err != nil {
		return index, err
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return index, fmt.Errorf("%s: %w", path, err)
	}
	for tensor, name := range index.Files {
		if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
			return index, fmt.Errorf("%s: tensor %s: want a file in the folder of the index, got %q", path, tensor, name)
		}
	}
	return index, nil
}

// readShards reads the files of an index as one. It compares the checksum of all of them, if the index has one.
func readShards(path string) (*safetensors.File, error) {
	index, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	all := &safetensors.File{Metadata: map[string]string{}, Tensors: map[string]safetensors.Tensor{}}
	for key, value := range index.Metadata {
		if text, ok := value.(string); ok {
			all.Metadata[key] = text
		}
	}
	files := map[string]*safetensors.File{}
	for _, tensor := range slices.Sorted(maps.Keys(index.Files)) {
		name := index.Files[tensor]
		f := files[name]
		if f == nil {
			if f, err = readVariables(filepath.Join(filepath.Dir(path), name)); err != nil {
				return nil, err
			}
			files[name] = f
		}
		t, ok := f.Tensors[tensor]
		if !ok {
			return nil, fmt.Errorf("%s: want the tensor %s in %s, got none", path, tensor, name)
		}
		all.Tensors[tensor] = t
	}
	if want, ok := all.Metadata[sumOf]; ok {
		if got := checksum(all); got != want {
			return nil, fmt.Errorf("%s is damaged: want files with the checksum %s, got %s", path, want, got)
		}
	}
	return all, nil
}
