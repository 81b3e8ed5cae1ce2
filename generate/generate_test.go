package generate_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate"
)

// TestMain gives the tests and examples a cache folder of their own.
func TestMain(m *testing.M) {
	cache, err := os.MkdirTemp("", "opgen")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	status := m.Run()
	os.RemoveAll(cache)
	os.Exit(status)
}

// TestPluginFolders checks that a plug-in of the process writes to a folder of its own.
func TestPluginFolders(t *testing.T) {
	dir := module(spec)
	defer os.RemoveAll(dir)
	for _, tt := range []struct{ out, want string }{
		{"../lists", `plug-in names: want a folder below the module's root, got "../lists"`},
		{".", `plug-in names: want a folder below the module's root, got "."`},
		{"generated/lists", "plug-in names: the folders generated/lists and generated must be different, neither within the other"},
	} {
		_, err := generate.Diff(t.Context(), generate.Options{Dir: dir, Plugins: []generate.Plugin{{Name: "names", Out: tt.out, Plugin: names{}}}})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.out, err, tt.want)
		}
	}
	_, err := generate.Diff(t.Context(), generate.Options{Dir: dir, Plugins: []generate.Plugin{{Name: "names", Out: "lists", Options: func() {}, Plugin: names{}}}})
	if err == nil || !strings.HasPrefix(err.Error(), "options of plug-in names: ") {
		t.Errorf("options that JSON does not have: %v", err)
	}
}

// TestModel checks that a result holds the model, and that Write refuses to overwrite a file that was edited
// by hand.
func TestModel(t *testing.T) {
	dir := module(spec)
	defer os.RemoveAll(dir)
	done, err := generate.Write(t.Context(), generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	data, err := done.Model()
	if err != nil {
		t.Fatal(err)
	}
	var model struct{ Operators []struct{ Name, Pos string } }
	if err := json.Unmarshal(data, &model); err != nil || len(model.Operators) != 1 || model.Operators[0].Pos != "specs/scale.toml:2:11" {
		t.Errorf("the model is %+v, %v", model, err)
	}
	file := dir + "/generated/scale/tasks.go"
	if err := os.WriteFile(file, append(done.Changes[4].New, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	again, err := generate.Write(t.Context(), generate.Options{Dir: dir})
	if err != nil || len(again.Refused) != 1 || again.Refused[0].Kind != "edited by hand" || !slices.Equal(again.Refused[0].New, done.Changes[4].New) {
		t.Errorf("refused %+v, %v", again.Refused, err)
	}
	forced, err := generate.Write(t.Context(), generate.Options{Dir: dir, Force: true})
	if err != nil || forced.Summary() != "1 operator: 1 file overwritten" {
		t.Errorf("forced: %v, %v", forced, err)
	}
}
