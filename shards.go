package opgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/regular"
	"github.com/opgen/opgen/runtime/safetensors"
)

// indexSuffix ends the path of an index of several files.
const indexSuffix = ".safetensors.index.json"

// shardIndex is the content of an index, as other programs that use the format write it: which file holds
// which tensor. Values of the metadata that are not strings are of no use here.
type shardIndex struct {
	Metadata map[string]any    `json:"metadata"`
	Files    map[string]string `json:"weight_map"`
}

// text returns the metadata that are strings.
func (i *shardIndex) text() map[string]string {
	out := map[string]string{}
	for key, value := range i.Metadata {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}

// writeShards writes tensors to several files of at most limit bytes, then their index, and then removes the
// files of the index that was there and those of writes that were interrupted. The names of the files hold a
// checksum of what is in all of them and of the limit, which divides them. So the files of an earlier index
// stay until the new index is there, and no file takes the place of another one with other tensors. After an
// error, the earlier index has its files, and there are none of the new one.
func writeShards(path string, f *safetensors.File, limit int64) (err error) {
	base, ok := strings.CutSuffix(path, indexSuffix)
	if !ok {
		return fmt.Errorf("%s: want the path of an index, which ends with %s", path, indexSuffix)
	}
	before, err := readIndex(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	index := shardIndex{Metadata: map[string]any{sumOf: checksum(f)}, Files: map[string]string{}}
	set := newDigest(map[string]string{"all": checksum(f), "limit": fmt.Sprint(limit)}).String()
	for key, value := range f.Metadata {
		index.Metadata[key] = value
	}
	parts := shards(f, limit)
	for i, part := range parts {
		name := fmt.Sprintf("%s-%s-%05d-of-%05d%s", base, set, i+1, len(parts), fileSuffix)
		part.Metadata[setOf] = set
		for tensor := range part.Tensors {
			index.Files[tensor] = filepath.Base(name)
		}
		if err := writeFile(name, part); err != nil {
			return errors.Join(err, removeShards(path, index, before))
		}
	}
	data, err := json.MarshalIndent(index, "", "  ")
	if err == nil {
		err = replace(path, append(data, '\n'))
	}
	if err != nil {
		return errors.Join(err, removeShards(path, index, before))
	}
	return removeOrphans(path)
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

// removeShards removes the files of an index that another one does not name, if they are shards that
// writeShards wrote for it.
func removeShards(path string, of, but shardIndex) error {
	stay := slices.Collect(maps.Values(but.Files))
	var errs []error
	gone := map[string]bool{}
	for _, name := range of.Files {
		if !slices.Contains(stay, name) && !gone[name] && isShard(path, name) {
			gone[name] = true
			errs = append(errs, os.Remove(filepath.Join(filepath.Dir(path), name)))
		}
	}
	return errors.Join(errs...)
}

// removeOrphans removes the shards of an index that no index in its folder names, and files that would have
// become such shards or the index: those of the index that was there, and what a process that is killed while
// it writes leaves.
func removeOrphans(path string) error {
	dir, base := filepath.Split(path)
	files, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, file := range files {
		if name := file.Name(); strings.HasSuffix(name, indexSuffix) {
			index, err := readIndex(filepath.Join(dir, name)) // a copy of an index that was there may name its files
			if err != nil {
				continue // it names none
			}
			for _, of := range index.Files {
				named[of] = true
			}
		}
	}
	var errs []error
	for _, file := range files {
		name := file.Name()
		begun := begunFile.FindStringSubmatch(name)
		if begun != nil && file.Type().IsRegular() && (begun[1] == base || shardOf(path, begun[1]) != "") || begun == nil && !named[name] && isShard(path, name) {
			errs = append(errs, os.Remove(filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}

// begunFile matches the name that replace gives a file before it is whole, and in it the name that the file
// has then.
var begunFile = regexp.MustCompile(`^(.*)\.[0-9]+\.tmp$`)

// shardName matches what follows the name of the index in that of a shard.
var shardName = regexp.MustCompile(`^-([0-9a-f]{8})-[0-9]{5,}-of-[0-9]{5,}\.safetensors$`)

// isShard reports whether a name is one that writeShards gives the files of an index, and the file a shard of
// the set in its name.
func isShard(index, name string) bool {
	set := shardOf(index, name)
	if set == "" {
		return false
	}
	path := filepath.Join(filepath.Dir(index), name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() { // a link is not removed for what it leads to
		return false
	}
	r, err := safetensors.Open(path)
	if err != nil {
		return false
	}
	defer r.Close()
	return r.Metadata[setOf] == set
}

// shardOf returns the set in a name that writeShards gives a file of an index, or nothing.
func shardOf(index, name string) (set string) {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(filepath.Base(index), indexSuffix))
	if m := shardName.FindStringSubmatch(rest); ok && m != nil {
		return m[1]
	}
	return ""
}

// readIndex reads an index. Its files lie in its folder.
func readIndex(path string) (shardIndex, error) {
	var index shardIndex
	data, err := regular.Read(path, safetensors.MaxHeader)
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

// readShards reads the files of an index as one, as readVariables does. It compares the checksum of all of
// them, if there is one.
func readShards(path string, keep func(name string, t safetensors.Tensor) bool) (f *safetensors.File, err error) {
	index, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	f = &safetensors.File{Metadata: index.text()}
	all, err := begin(path, f.Metadata)
	if err != nil {
		return nil, err
	}
	var parts []*part
	defer func() {
		for _, p := range parts {
			err = errors.Join(err, p.Close())
		}
	}()
	named, owner := map[string]*part{}, map[string]*part{}
	for _, tensor := range slices.Sorted(maps.Keys(index.Files)) {
		name := index.Files[tensor]
		p := named[name]
		if p == nil {
			if p, err = openPart(filepath.Join(filepath.Dir(path), name)); err != nil {
				return nil, err
			}
			parts, named[name] = append(parts, p), p
		}
		if _, ok := p.Describe(tensor); !ok {
			return nil, fmt.Errorf("%s: want the tensor %s in %s, got none", path, tensor, name)
		}
		if _, ok := p.Metadata[setOf]; ok && all == nil {
			return nil, fmt.Errorf("%s is damaged: want a checksum, as %s is one of several files with one, got none", path, name)
		}
		owner[tensor] = p
	}
	if f.Tensors, err = read(parts, owner, all, keep); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := p.sum.compare(p.path, "the checksum", p.Metadata); err != nil {
			return nil, err
		}
	}
	return f, all.compare(path, "files with the checksum", f.Metadata)
}
