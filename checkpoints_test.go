package opgen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/runtime/safetensors"
)

// names returns the names of the files of a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// trained trains up to a number of steps from where the checkpoints of a folder stand, and writes one after
// each. It returns where it began, and the weights at the end.
func trained(t *testing.T, dir string, steps int) (at opgen.Position, w []float32) {
	t.Helper()
	s := open(t)
	b := opgen.NewBatches(s, 0, training(0.4))
	last, err := b.For(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	kept := opgen.Checkpoints{Dir: dir}
	if at, err = kept.Resume(s); err != nil {
		t.Fatal(err)
	}
	for i := at.Step; i < steps; i++ {
		last = step(t, b, 5, 5*i, 5*i+5, true)
		if err := kept.Save(s, opgen.Position{Step: i + 1, Notes: map[string]string{"epoch": fmt.Sprint(i / 2)}}); err != nil {
			t.Fatal(err)
		}
	}
	return at, weights(t, last)
}

// TestCheckpoints trains 6 steps, and the same with an interruption after each of them. The weights at the
// end are equal bit for bit.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	const steps = 6
	dir := t.TempDir()
	_, want := trained(t, dir, steps)
	if got := names(t, dir); !slices.Equal(got, []string{"step-000000000005.safetensors", "step-000000000006.safetensors"}) {
		t.Errorf("the folder has %v, want the two newest checkpoints", got)
	}
	for stop := 1; stop < steps; stop++ {
		dir := t.TempDir()
		trained(t, dir, stop)
		at, got := trained(t, dir, steps)
		if at.Step != stop || at.Notes["epoch"] != fmt.Sprint((stop-1)/2) || at.Damaged != nil || !slices.Equal(got, want) {
			t.Errorf("interrupted after %d steps, it goes on from %+v and learns %v, want %v", stop, at, got, want)
		}
	}
}

// TestDamagedCheckpoint changes the newest checkpoint in several places, and cuts it off in several places.
// The training goes on from the one before, and says why. Without another one it is an error.
func TestDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, want := trained(t, dir, 3)
	path := filepath.Join(dir, "step-000000000003.safetensors")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{"empty": nil, "of another step": bytes.Replace(whole, []byte(`"step":"3"`), []byte(`"step":"4"`), 1)}
	for i := 0; i < len(whole); i += 97 {
		damage[fmt.Sprintf("cut off at %d", i)] = whole[:i]
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		damage[fmt.Sprintf("changed at %d", i)] = changed
	}
	for _, name := range slices.Sorted(maps.Keys(damage)) {
		if err := os.WriteFile(path, damage[name], 0o666); err != nil {
			t.Fatal(err)
		}
		at, got := trained(t, dir, 3)
		if at.Step != 2 || at.Damaged == nil || !strings.Contains(at.Damaged.Error(), path) || !slices.Equal(got, want) {
			t.Errorf("%s: it goes on from %+v and learns %v, want %v", name, at, got, want)
		}
	}
	for _, name := range names(t, dir) {
		if err := os.Truncate(filepath.Join(dir, name), 100); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t)
	if _, err := opgen.NewBatches(s, 0, training(0.4)).For(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	_, err = opgen.Checkpoints{Dir: dir}.Resume(s)
	wantError(t, err, "step-000000000002.safetensors", "step-000000000003.safetensors")
}

// TestCheckpointFolder checks what happens to other files of the folder, and errors.
func TestCheckpointFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	trained(t, dir, 2)
	for _, name := range []string{"step-000000000001.safetensors.4711", "step-1.safetensors", "notes", "step-x.safetensors"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	trained(t, dir, 3)
	if got, want := names(t, dir), []string{"notes", "step-000000000002.safetensors", "step-000000000003.safetensors", "step-1.safetensors", "step-x.safetensors"}; !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v: what was left unfinished is gone, and foreign files stay", got, want)
	}
	s := open(t)
	p, err := opgen.NewBatches(s, 0, inference(0)).For(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	before := weights(t, p)
	if at, err := (opgen.Checkpoints{Dir: filepath.Join(dir, "none")}).Resume(s); err != nil || at.Step != 0 || !slices.Equal(weights(t, p), before) {
		t.Errorf("without a checkpoint, got %+v, %v", at, err)
	}
	at, err := opgen.Checkpoints{Dir: dir}.Resume(s)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, at.Differs(map[string]string{"epoch": "2", "seed": "1"}), "has epoch = 1, want 2", "has no seed, want 1")
	if err := at.Differs(map[string]string{"epoch": "1"}); err != nil {
		t.Error(err)
	}
	wantError(t, opgen.Checkpoints{Dir: dir}.Save(s, opgen.Position{Step: -1}), "want a number of steps, got -1")
	file := opgen.Checkpoints{Dir: filepath.Join(dir, "notes")}
	wantError(t, file.Save(s, opgen.Position{}), "notes")
	_, err = file.Resume(s)
	wantError(t, err, "notes")
	other := open(t)
	_, err = opgen.Checkpoints{Dir: dir}.Resume(other)
	wantError(t, err, "load a program first")
}

// TestShards saves variables to several files with an index, twice, and loads them.
func TestShards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index := filepath.Join(dir, "model.safetensors.index.json")
	s := open(t)
	b := opgen.NewBatches(s, 0, training(0.4))
	step(t, b, 5, 0, 5, true)
	save := func() {
		t.Helper()
		if err := s.SaveVariables(index, opgen.MaxFile(200)); err != nil {
			t.Fatal(err)
		}
	}
	save()
	first := names(t, dir)
	want := weights(t, step(t, b, 5, 5, 10, true))
	save()
	second := names(t, dir)
	if len(second) < 4 || len(second) != len(first) || slices.Equal(first, second) {
		t.Errorf("the folder has %v after %v, want several new files in place of the old ones", second, first)
	}
	load := func(opts ...opgen.FileOption) ([]float32, error) {
		t.Helper()
		s := open(t)
		p, err := opgen.NewBatches(s, 0, inference(0)).For(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		err = s.LoadVariables(index, opts...)
		return weights(t, p), err
	}
	if got, err := load(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got the weights %v, %v, want %v", got, err, want)
	}
	wantError(t, s.SaveVariables(filepath.Join(dir, "model"), opgen.MaxFile(200)), "want the path of an index")
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(index map[string]any)) {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		f(v)
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(index, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files := func(v map[string]any) map[string]any { return v["weight_map"].(map[string]any) }
	for want, f := range map[string]func(map[string]any){
		"want a file in the folder of the index, got \"../x\"": func(v map[string]any) { files(v)["out.weight"] = "../x" },
		"is damaged: want files with the checksum ":            func(v map[string]any) { delete(files(v), "out.weight") },
		"is damaged: want a checksum, as its metadata has \"opgen\"": func(v map[string]any) {
			delete(v["metadata"].(map[string]any), "crc32c")
		},
		"is one of several files with one, got none": func(v map[string]any) { delete(v, "metadata") },
		"is damaged: want files with the checksum":   func(v map[string]any) { v["metadata"].(map[string]any)["opgen"] = "other" },
		"no such file":            func(v map[string]any) { files(v)["out.weight"] = "none.safetensors" },
		"want the tensor none in": func(v map[string]any) { files(v)["none"] = files(v)["out.weight"] },
	} {
		change(f)
		_, err := load()
		wantError(t, err, want)
	}
	// Another program writes files without checksums, and numbers among the metadata of the index.
	for _, name := range second {
		if strings.HasSuffix(name, ".safetensors") {
			edit(t, filepath.Join(dir, name), func(f *safetensors.File) { f.Metadata = nil })
		}
	}
	change(func(v map[string]any) { v["metadata"] = map[string]any{"total_size": 1.0} })
	if got, err := load(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got the weights %v, %v, want %v", got, err, want)
	}
	change(func(v map[string]any) {
		v["metadata"] = map[string]any{"total_size": 1.0}
		delete(files(v), "out.weight")
	})
	_, err = load()
	wantError(t, err, "variable out.weight: want f32[4, 9], got none")
}

// TestNames saves and loads variables with other names in the file.
func TestNames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "variables")
	s := open(t)
	p, err := opgen.NewBatches(s, 0, inference(0)).For(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := weights(t, p)
	other := opgen.Names(map[string]string{"out.weight": "head.w", "out.bias": "head.b"})
	if err := s.SaveVariables(path, other); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.LoadVariables(path), "variable out.weight: want f32[4, 9], got none", "variable out.bias")
	trained := opgen.NewBatches(s, 0, training(0))
	step(t, trained, 5, 0, 5, true)
	if slices.Equal(weights(t, p), want) {
		t.Error("training changes nothing")
	}
	u := open(t)
	if p, err = opgen.NewBatches(u, 0, inference(0)).For(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := u.LoadVariables(path, other); err != nil || !slices.Equal(weights(t, p), want) {
		t.Errorf("got %v, %v, want %v", weights(t, p), err, want)
	}
	wantError(t, s.SaveVariables(path, opgen.Names(map[string]string{"out.weight": "out.bias"})), "a name in the file that no other variable has")
}
