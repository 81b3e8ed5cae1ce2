package curves

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/live"
)

// runOf returns a run with a curve of values.
func runOf(name string, values ...float64) *Run {
	r := &Run{Name: name}
	for i, v := range values {
		r.Curve("loss").Add(i+1, v)
	}
	return r
}

// TestHTML writes a page and reads its runs again, with values that JSON has no numbers for.
func TestHTML(t *testing.T) {
	t.Parallel()
	one, two := runOf("</script><b>one", 3, math.Inf(1), math.Inf(-1)), runOf("two")
	one.Curve("time").Unit, one.Curve("time").Log = "ms", true
	var out bytes.Buffer
	if err := HTML(&out, "<i>Training", one, two); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<b>") || strings.Contains(out.String(), "<i>") {
		t.Error("a name became HTML")
	}
	if outside := regexp.MustCompile(`(src|href)="(https?:|//)|sourceMappingURL|@import`).FindString(out.String()); outside != "" {
		t.Errorf("the page asks for what is not in it: %s", outside)
	}
	got, err := Read(&out)
	if err != nil || !reflect.DeepEqual(got, []*Run{one, two}) {
		t.Errorf("got %+v, %v, want %+v", got, err, []*Run{one, two})
	}
	out.Reset()
	if err := HTML(&out, "", runOf("NaN", math.NaN())); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(&out); err != nil || !math.IsNaN(float64(got[0].Curves[0].Values[0])) {
		t.Errorf("got %v, %v, want NaN", got, err)
	}
}

// TestAdd repeats steps, as a training does that goes on from a checkpoint.
func TestAdd(t *testing.T) {
	t.Parallel()
	r := runOf("run", 1, 2, 3, 4)
	c := r.Curve("loss")
	c.Add(3, 5)
	if want := (&Curve{Name: "loss", Steps: []int{1, 2, 3}, Values: []Value{1, 2, 5}}); !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// TestUpdate adds runs to a page. A run of the same name is replaced, and a file that is no page stays as it
// is.
func TestUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "training.html")
	for _, r := range []*Run{runOf("a", 1), runOf("b", 2), runOf("a", 3)} {
		if err := Update(path, "Training", r); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Read(f); err != nil || !reflect.DeepEqual(got, []*Run{runOf("b", 2), runOf("a", 3)}) {
		t.Errorf("got %v, %v", got, err)
	}
	other := filepath.Join(t.TempDir(), "other.html")
	if err := os.WriteFile(other, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Update(other, "Training", runOf("a")); err == nil || !strings.Contains(err.Error(), other+": curves: want a page that package curves wrote") {
		t.Errorf("got %v, want an error", err)
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "mine" {
		t.Errorf("the file became %q, %v", data, err)
	}
	if err := Update(filepath.Join(path, "below"), "Training", runOf("a")); err == nil {
		t.Error("a page below a file: want an error, got none")
	}
}

// TestErrors refuses curves that are none, and pages with damaged runs.
func TestErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*Curve{
		"curve short: want a value for each of 2 steps, got 1": {Name: "short", Steps: []int{1, 2}, Values: []Value{1}},
		"curve back: want ascending steps, got 2 behind 2":     {Name: "back", Steps: []int{2, 2}, Values: []Value{1, 1}},
	} {
		if err := HTML(&bytes.Buffer{}, "", &Run{Name: "run", Curves: []*Curve{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	var out bytes.Buffer
	if err := HTML(&out, "", runOf("a", 1, 2)); err != nil {
		t.Fatal(err)
	}
	page, data := out.String(), strings.Index(out.String(), dataBegin)+len(dataBegin)
	for _, damaged := range []string{page[:data], page[:data] + "x" + page[data:], page[:data] + page[data+40:], page[:data+20]} {
		if runs, err := Read(strings.NewReader(damaged)); err == nil {
			t.Errorf("a damaged page gives %v, want an error", runs)
		}
	}
}

// TestUPlot checks that the files are those of the package that the license is about.
func TestUPlot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{uPlotJS: "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f", uPlotCSS: "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"} {
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("a file of uPlot has the SHA-256 %x, want %s", sum, want)
		}
	}
}

// TestLive serves the page of two trainings, of which one makes a step, and reads the page and its changes.
func TestLive(t *testing.T) {
	t.Parallel()
	run := runOf("now", 5)
	page, err := Live("Training", runOf("before", 3, 2), run)
	if err != nil {
		t.Fatal(err)
	}
	server, err := live.Serve("localhost:0", page)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for steps := 1; steps <= 2; steps++ {
		if steps == 2 {
			page.Update(func() { run.Curve("loss").Add(2, 4) })
		}
		for _, address := range []string{server.URL(), strings.Replace(server.URL(), "/?", "/changes1?", 1)} {
			a, err := http.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			var runs []*Run
			if a.Header.Get("Version") == "" {
				runs, err = Read(a.Body)
			} else {
				err = json.NewDecoder(a.Body).Decode(&runs)
			}
			a.Body.Close()
			if err != nil || len(runs) != 2 || len(runs[1].Curve("loss").Steps) != steps {
				t.Errorf("%s: step %d: %v, %v", address, steps, runs, err)
			}
		}
	}
	if _, err := Live("Training", &Run{Name: "wrong", Curves: []*Curve{{Name: "loss", Steps: []int{1}}}}); err == nil {
		t.Error("want an error for a curve without values, got none")
	}
}
