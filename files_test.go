package opgen_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/safetensors"
)

// edit changes a file of tensors.
func edit(t *testing.T, path string, change func(*safetensors.File)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	change(f)
	writeTensors(t, path, f)
}

// writeTensors writes a file of tensors.
func writeTensors(t *testing.T, path string, f *safetensors.File) {
	t.Helper()
	data, err := f.Encode()
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// small is a session with one small layer, whose weights are to be loaded.
type small struct {
	*opgen.Session
	run   func()           // one step more
	fetch func() []float32 // the weights
}

func newSmall(t *testing.T, typ dtype.Type) small {
	t.Helper()
	s := open(t)
	g, x, y := affine(typ, 2)
	p, err := s.Inference(t.Context(), g, y)
	if err != nil {
		t.Fatal(err)
	}
	feed := opgen.With(x, make([]float32, 6))
	if typ == dtype.F64 {
		feed = opgen.With(x, make([]float64, 6))
	}
	run := func() {
		t.Helper()
		if err := p.Run(t.Context(), feed); err != nil {
			t.Fatal(err)
		}
	}
	run()
	return small{s, run, func() (out []float32) {
		for _, slot := range []int{int(linear.SlotWeight), int(linear.SlotBias)} {
			w := y.Node().Tensor(slot)
			if typ != dtype.F64 {
				out = append(out, fetch(t, p, w)...)
				continue
			}
			elements, err := opgen.Fetch[float64](p, w)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range elements {
				out = append(out, float32(v))
			}
		}
		return out
	}}
}

// TestDamagedBits flips each bit of a file of variables, of an index and of a file of it, alone and together
// with a bit of the data, which a damaged checksum must not hide. Either the error says so, or the weights
// and the steps are those that were saved.
func TestDamagedBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, index := filepath.Join(dir, "one.safetensors"), filepath.Join(dir, "some.safetensors.index.json")
	saved := newSmall(t, dtype.F32)
	saved.run()
	want := saved.fetch()
	for path, opts := range map[string][]opgen.FileOption{one: nil, index: {opgen.MaxFile(24)}} {
		if err := saved.SaveVariables(path, opts...); err != nil {
			t.Fatal(err)
		}
	}
	shards, err := filepath.Glob(filepath.Join(dir, "some-*"))
	if err != nil || len(shards) != 2 {
		t.Fatalf("got the files %v, %v, want two", shards, err)
	}
	other := newSmall(t, dtype.F32)
	zeros := filepath.Join(dir, "zeros")
	weight, _ := safetensors.Of([]int{2, 3}, make([]float32, 6))
	bias, _ := safetensors.Of([]int{2}, make([]float32, 2))
	writeTensors(t, zeros, &safetensors.File{Metadata: map[string]string{"steps of inference 1": "0"},
		Tensors: map[string]safetensors.Tensor{"affine.weight": weight, "affine.bias": bias}})
	if err := other.LoadVariables(zeros); err != nil {
		t.Fatal(err)
	}
	steps := func(s small) string { // what a file says about the steps that programs have run
		t.Helper()
		path := filepath.Join(dir, "steps")
		if err := s.SaveVariables(path); err != nil {
			t.Fatal(err)
		}
		var out string
		edit(t, path, func(f *safetensors.File) { out = fmt.Sprint(f.Metadata) })
		return out
	}
	wantSteps := steps(saved)
	if !strings.Contains(wantSteps, "steps of inference 1:2") {
		t.Errorf("a file says %s, want the steps", wantSteps)
	}
	for path, load := range map[string]string{one: one, index: index, shards[0]: index} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		write := func(at int, b byte) {
			t.Helper()
			if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		for k := range 2 * 8 * len(whole) {
			bit, last, alone := k/2, len(whole)-1, k%2 == 0
			at := bit / 8
			if path == index || at == last {
				alone = true // the data of the index is in other files
			}
			write(at, whole[at]^1<<(bit%8))
			if !alone {
				write(last, whole[last]^1)
			}
			err := other.LoadVariables(load)
			write(at, whole[at])
			write(last, whole[last])
			if err != nil {
				refused++
				continue
			}
			if got := other.fetch(); !slices.Equal(got, want) {
				t.Fatalf("%s with another bit %d of byte %d (%q): got %v, want %v or an error", path, bit%8, at, around(whole, at), got, want)
			}
			if got := steps(other); got != wantSteps {
				t.Fatalf("%s with another bit %d of byte %d (%q): got %s, want %s", path, bit%8, at, around(whole, at), got, wantSteps)
			}
			if err := other.LoadVariables(zeros); err != nil {
				t.Fatal(err)
			}
		}
		if refused < 12*len(whole) {
			t.Errorf("%s: %d of %d changes are noticed", path, refused, 16*len(whole))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := other.LoadVariables(load); err != nil {
			t.Errorf("as it was: %v", err)
		}
	}
}

// around returns the bytes about a place.
func around(data []byte, at int) []byte { return data[max(0, at-8):min(len(data), at+8)] }

// TestForeignShards saves over an index that names files which SaveVariables has not written for it. These
// stay.
func TestForeignShards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index := filepath.Join(dir, "model.safetensors.index.json")
	s := newSmall(t, dtype.F32)
	if err := s.SaveVariables(index, opgen.MaxFile(24)); err != nil {
		t.Fatal(err)
	}
	mine, err := filepath.Glob(filepath.Join(dir, "model-*"))
	if err != nil || len(mine) != 2 {
		t.Fatalf("got the files %v, %v, want two", mine, err)
	}
	shard, err := os.ReadFile(mine[0])
	if err != nil {
		t.Fatal(err)
	}
	plain := &safetensors.File{Tensors: map[string]safetensors.Tensor{"a": {Type: dtype.U8, Shape: []int{1}, Data: []byte{1}}}}
	unmarked, err := plain.Encode()
	if err != nil {
		t.Fatal(err)
	}
	set := strings.Split(filepath.Base(mine[0]), "-")[1]
	foreign := map[string][]byte{
		"precious.go":                                   []byte("package precious\n"),
		"model-00001-of-00002.safetensors":              shard,                  // as other programs name them
		"other-" + set + "-00001-of-00002.safetensors":  shard,                  // of another index
		"model-" + set + "-00003-of-00003.safetensors":  unmarked,               // the name alone
		"model-" + set + "-00004-of-00004.safetensors":  []byte("no tensors\n"), // nor that
		"model-01234567-00001-of-00002.safetensors":     shard,                  // of another set
		"xmodel-" + set + "-00001-of-00002.safetensors": shard,
	}
	names := map[string]string{"folder": "folder", "model-" + set + "-00009-of-00009.safetensors": "link", "none": "none.safetensors"}
	for name, data := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
		names[name] = name
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "model-"+set+"-00005-of-00005.safetensors"), 0o777); err != nil {
		t.Fatal(err)
	}
	names["folder too"] = "model-" + set + "-00005-of-00005.safetensors"
	if runtime.GOOS != "windows" {
		link := "model-" + set + "-00006-of-00006.safetensors"
		if err := os.Symlink(mine[0], filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		names["link"] = link
	}
	for i, path := range mine {
		names[fmt.Sprint("mine ", i)] = filepath.Base(path)
	}
	before := len(entries(t, dir))
	text, err := json.Marshal(map[string]any{"weight_map": names})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveVariables(index, opgen.MaxFile(1<<20)); err != nil {
		t.Fatal(err)
	}
	for name, data := range foreign {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is gone or changed: %v", name, err)
		}
	}
	if got := entries(t, dir); len(got) != before-len(mine)+1 {
		t.Errorf("the folder has %q, want one file in place of %q", got, mine)
	}
	if err := s.LoadVariables(index); err != nil {
		t.Error(err)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	return names(t, dir)
}

// TestShardsAreDividedAnew saves the same variables with limits that divide them into as many files in other
// places. While the second index is not there, the first one has its files.
func TestShardsAreDividedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index := filepath.Join(dir, "model.safetensors.index.json")
	s := open(t)
	step(t, opgen.NewBatches(s, 0, training(0.4)), 5, 0, 5, true)
	divided := map[string]int{}
	for limit := int64(40); limit < 240; limit += 8 {
		if err := s.SaveVariables(index, opgen.MaxFile(limit)); err != nil {
			t.Fatal(err)
		}
		var files struct {
			Map map[string]string `json:"weight_map"`
		}
		text, err := os.ReadFile(index)
		if err == nil {
			err = json.Unmarshal(text, &files)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range entries(t, dir) {
			if name != filepath.Base(index) {
				divided[name]++
			}
		}
		if n := len(entries(t, dir)); n < 2 {
			t.Fatalf("%d files", n)
		}
	}
	for name, n := range divided {
		if n > 1 {
			t.Errorf("%s has the tensors of %d limits", name, n)
		}
	}
	// An index whose place is taken: nothing is written.
	taken := filepath.Join(dir, "taken.safetensors.index.json")
	if err := os.Mkdir(taken, 0o777); err != nil {
		t.Fatal(err)
	}
	before := entries(t, dir)
	wantError(t, s.SaveVariables(taken, opgen.MaxFile(100)), "want a regular file, got a folder")
	if got := entries(t, dir); !slices.Equal(got, before) {
		t.Errorf("after an error, the folder has %q, want %q", got, before)
	}
}

// TestShardsAfterError saves where one of the files cannot be written. Those before it are removed, and the
// earlier index has its files.
func TestShardsAfterError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index := filepath.Join(dir, "model.safetensors.index.json")
	s := newSmall(t, dtype.F32)
	want := s.fetch()
	save := func(limit int64) []string {
		t.Helper()
		if err := s.SaveVariables(index, opgen.MaxFile(limit)); err != nil {
			t.Fatal(err)
		}
		return entries(t, dir)
	}
	two, one := save(24), save(1<<20)
	if len(two) != 3 || len(one) != 2 {
		t.Fatalf("got the files %q and %q, want two and one with an index", two, one)
	}
	if err := os.MkdirAll(filepath.Join(dir, two[1], "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	err := s.SaveVariables(index, opgen.MaxFile(24))
	wantError(t, err, two[1])
	if got := entries(t, dir); !slices.Equal(got, slices.Sorted(slices.Values(append(one, two[1])))) {
		t.Errorf("after %v, the folder has %q, want %q", err, got, one)
	}
	if err := s.LoadVariables(index); err != nil || !slices.Equal(s.fetch(), want) {
		t.Errorf("got %v, %v, want %v", s.fetch(), err, want)
	}
}

// TestHugeFiles loads files that claim to be much larger than the memory of this machine. Errors name the
// file and its sizes, and no memory is made for what no variable needs.
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "variables.safetensors")
	s := newSmall(t, dtype.F32)
	write := func(size int64, header string) {
		t.Helper()
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil { // the rest is a hole
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const huge = 1 << 42
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	write(huge, "{}")
	wantError(t, s.LoadVariables(path), path, fmt.Sprintf("at byte 0, got %d bytes", int64(huge-10)))
	for _, shape := range []string{fmt.Sprint(int64(huge)), "2, 3"} {
		header := fmt.Sprintf(`{"affine.weight": {"dtype": "U8", "shape": [%s], "data_offsets": [0, %d]}}`, shape, int64(huge))
		write(huge+8+int64(len(header)), header)
		err := s.LoadVariables(path, opgen.Convert())
		wantError(t, err, path, "affine.weight", "4398046511104")
	}
	write(1<<40, strings.Repeat(" ", 8))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(binary.LittleEndian.AppendUint64(nil, 1<<39)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.LoadVariables(path), path, "want a header of at most 100000000 bytes, got 549755813888")
	index := filepath.Join(dir, "model.safetensors.index.json")
	write(huge, "{}")
	if err := os.Rename(path, index); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.LoadVariables(index), index, "want at most 100000000 bytes")
	// A tensor of a terabyte that no variable needs does not hinder the others.
	header := fmt.Sprintf(`{"affine.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "affine.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]},
		"huge": {"dtype": "U8", "shape": [%d], "data_offsets": [32, %d]}}`, int64(huge-32), int64(huge))
	write(huge+8+int64(len(header)), header)
	if err := s.LoadVariables(path); err != nil {
		t.Error(err)
	}
	if got := s.fetch(); !slices.Equal(got, make([]float32, 8)) {
		t.Errorf("got %v, want zeros", got)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("%d bytes are allocated", n)
	}
}

// TestUnknownTypes loads a file that holds tensors of types that no variable has, and asks for one of them.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	s := newSmall(t, dtype.F32)
	weight, err := safetensors.Of([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	bias, err := safetensors.Of([]int{2}, []float32{7, 8})
	if err != nil {
		t.Fatal(err)
	}
	f := &safetensors.File{Metadata: map[string]string{"format": "pt"}, Tensors: map[string]safetensors.Tensor{
		"affine.weight": weight, "affine.bias": bias,
		"scales": {Type: dtype.F8E4M3, Shape: []int{3}, Data: []byte{1, 2, 3}},
		"blocks": {Unknown: "F6_E2M3", Shape: []int{4}, Data: []byte{1, 2, 3}},
	}}
	writeTensors(t, path, f)
	if err := s.LoadVariables(path); err != nil {
		t.Error(err)
	}
	if got := s.fetch(); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("got %v", got)
	}
	for _, opts := range [][]opgen.FileOption{nil, {opgen.Convert()}} {
		err := s.LoadVariables(path, append(opts, opgen.Names(map[string]string{"affine.bias": "blocks"}))...)
		wantError(t, err, path, "variable blocks: want f32[2], got F6_E2M3[4]")
	}
	f.Tensors["affine.bias"] = safetensors.Tensor{Unknown: "F6_E2M3", Shape: []int{2}, Data: []byte{1, 2}}
	writeTensors(t, path, f)
	err = s.LoadVariables(path, opgen.Convert())
	wantError(t, err, path, "variable affine.bias: want f32[2], got F6_E2M3[2]")
	if strings.Contains(err.Error(), "Convert") {
		t.Errorf("%v: no option converts it", err)
	}
	if got := s.fetch(); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("after errors, got %v", got)
	}
}

// TestConvert loads weights of other types. Without the option it is an error that names the option.
func TestConvert(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	codes := map[dtype.Type][]byte{ // of 1, 1.5, -2, 0.25, 0, -0.5, 4 and 3
		dtype.F8E4M3:     {0x38, 0x3c, 0xc0, 0x28, 0x00, 0xb0, 0x48, 0x44},
		dtype.F8E5M2:     {0x3c, 0x3e, 0xc0, 0x34, 0x00, 0xb8, 0x44, 0x42},
		dtype.F8E4M3FNUZ: {0x40, 0x44, 0xc8, 0x30, 0x00, 0xb8, 0x50, 0x4c},
		dtype.F16:        {0, 0x3c, 0, 0x3e, 0, 0xc0, 0, 0x34, 0, 0, 0, 0xb8, 0, 0x44, 0, 0x42},
		dtype.BF16:       {0x80, 0x3f, 0xc0, 0x3f, 0, 0xc0, 0x80, 0x3e, 0, 0, 0, 0xbf, 0x80, 0x40, 0x40, 0x40},
	}
	want := []float32{1, 1.5, -2, 0.25, 0, -0.5, 4, 3}
	for _, to := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32, dtype.F64} {
		s := newSmall(t, to)
		for from, data := range codes {
			n := from.Size()
			writeTensors(t, path, &safetensors.File{Tensors: map[string]safetensors.Tensor{
				"affine.weight": {Type: from, Shape: []int{2, 3}, Data: data[:6*n]},
				"affine.bias":   {Type: from, Shape: []int{2}, Data: data[6*n:]},
			}})
			if from != to {
				wantError(t, s.LoadVariables(path), "affine.weight", fmt.Sprintf("got %v[2] (the option opgen.Convert converts it)", from))
			}
			if err := s.LoadVariables(path, opgen.Convert()); err != nil {
				t.Errorf("%v to %v: %v", from, to, err)
			}
			if got := s.fetch(); !slices.Equal(got, want) {
				t.Errorf("%v to %v: got %v, want %v", from, to, got, want)
			}
		}
	}
	s := newSmall(t, dtype.F16)
	inf, before := float32(math.Inf(1)), s.fetch()
	for _, v := range []float32{1e5, inf} {
		weight, _ := safetensors.Of([]int{2, 3}, make([]float32, 6))
		bias, _ := safetensors.Of([]int{2}, []float32{0, v})
		writeTensors(t, path, &safetensors.File{Tensors: map[string]safetensors.Tensor{"affine.weight": weight, "affine.bias": bias}})
		err := s.LoadVariables(path, opgen.Convert())
		if got := s.fetch(); v == inf && (err != nil || got[7] != inf) {
			t.Errorf("infinity becomes %v, %v", got[7], err)
		} else if v != inf {
			wantError(t, err, path, "affine.bias: safetensors: element 1 of 2: 100000 is beyond the numbers of f16")
			if !slices.Equal(got, before) {
				t.Errorf("after an error the weights are %v, want %v", got, before)
			}
		}
	}
}
