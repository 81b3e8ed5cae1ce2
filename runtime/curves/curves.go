// Package curves keeps what trainings measure in each step, and shows runs beside each other on a page for a
// browser.
package curves

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/live"
)

// Run holds the measured curves of a training.
type Run struct {
	Name   string   `json:"name"`
	Curves []*Curve `json:"curves"`
}

// Curve is a number that a training measured in some of its steps.
type Curve struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"` // such as "ms"
	// Log says that the axis of values is logarithmic at first.
	Log    bool    `json:"log,omitempty"`
	Steps  []int   `json:"steps"` // ascending
	Values []Value `json:"values"`
}

// Value is a number that may be NaN or infinite. JSON has no such numbers, so they are written as texts.
type Value float64

// MarshalJSON writes a number, or the text NaN, +Inf or -Inf.
func (v Value) MarshalJSON() ([]byte, error) {
	if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
		return json.Marshal(fmt.Sprint(x))
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*v = Value(math.NaN())
	case `"+Inf"`:
		*v = Value(math.Inf(1))
	case `"-Inf"`:
		*v = Value(math.Inf(-1))
	default:
		return json.Unmarshal(data, (*float64)(v))
	}
	return nil
}

// Curve returns the curve with a name. It adds the curve to the run if there is none.
func (r *Run) Curve(name string) *Curve {
	for _, c := range r.Curves {
		if c.Name == name {
			return c
		}
	}
	c := &Curve{Name: name}
	r.Curves = append(r.Curves, c)
	return c
}

// Add adds the value of a step, which comes behind the steps before. A step that is there already, or one
// before it, begins the rest of the curve anew: a training that goes on from a checkpoint repeats steps.
func (c *Curve) Add(step int, value float64) {
	n, _ := slices.BinarySearch(c.Steps, step)
	c.Steps, c.Values = append(c.Steps[:n], step), append(c.Values[:n], Value(value))
}

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// uPlot draws the curves. It is version 1.6.32 of npm's uplot; the file uPlot.LICENSE beside it is its
// license.
//
//go:embed page/uPlot.iife.min.js
var uPlotJS string

//go:embed page/uPlot.min.css
var uPlotCSS string

var page = template.Must(template.New("page").Parse(pageHTML))

// The element of a page that holds its runs.
const (
	dataBegin = `<script type="application/octet-stream" id="data">`
	dataEnd   = `</script>`
)

// HTML writes a page with a chart for each name of a curve, with all runs that have such a curve: one file
// that needs no network and no other file. Read reads the runs of such a page.
func HTML(w io.Writer, title string, runs ...*Run) error {
	if err := valid(runs); err != nil {
		return err
	}
	return document(w, title, nil, runs)
}

// Live returns the page that HTML writes, for a server of package live. Only its Update may change the runs
// while it is served: add values, and add curves.
func Live(title string, runs ...*Run) (*live.Page, error) {
	if err := valid(runs); err != nil {
		return nil, err
	}
	return live.NewPage(title, func(w io.Writer, at *live.Place) error { return document(w, title, at, runs) },
		func(w io.Writer) error { return json.NewEncoder(w).Encode(runs) }), nil
}

// document writes a page, which follows a program that serves it if at is not nil.
func document(w io.Writer, title string, at *live.Place, runs []*Run) error {
	data, err := encoded(runs)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		Title      string
		Live       *live.Place
		CSS        template.CSS
		UPlot      template.JS
		Follow, JS template.JS
		Data       template.HTML
	}{title, at, template.CSS(uPlotCSS + pageCSS), template.JS(uPlotJS), live.Script, template.JS(pageJS), template.HTML(dataBegin + data + dataEnd)})
}

// encoded returns runs as a page holds them: JSON that is compressed with gzip, in base64.
func encoded(runs []*Run) (string, error) {
	text, err := json.Marshal(runs)
	if err != nil {
		return "", err
	}
	var data strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &data)
	z := gzip.NewWriter(encoder)
	if _, err := z.Write(text); err != nil {
		return "", err
	}
	err = errors.Join(z.Close(), encoder.Close())
	return data.String(), err
}

// valid returns an error about the first curve that has not one value for each step, or steps that do not
// ascend.
func valid(runs []*Run) error {
	for _, r := range runs {
		for _, c := range r.Curves {
			if len(c.Steps) != len(c.Values) {
				return fmt.Errorf("curves: run %s: curve %s: want a value for each of %d steps, got %d", r.Name, c.Name, len(c.Steps), len(c.Values))
			}
			for i := 1; i < len(c.Steps); i++ {
				if c.Steps[i] <= c.Steps[i-1] {
					return fmt.Errorf("curves: run %s: curve %s: want ascending steps, got %d behind %d", r.Name, c.Name, c.Steps[i], c.Steps[i-1])
				}
			}
		}
	}
	return nil
}

// maxRuns bounds the JSON of a page that is read, in bytes.
const maxRuns = 1 << 30

// Read reads the runs of a page that HTML wrote.
func Read(r io.Reader) ([]*Run, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRuns))
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(text, []byte(dataBegin))
	data, _, closed := bytes.Cut(rest, []byte(dataEnd))
	if !ok || !closed {
		return nil, errors.New("curves: want a page that package curves wrote, got another file")
	}
	var runs []*Run
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, maxRuns)).Decode(&runs)
	}
	if err == nil && slices.Contains(runs, nil) {
		err = errors.New("a run is null")
	}
	if err == nil {
		err = valid(runs)
	}
	if err != nil {
		return nil, fmt.Errorf("curves: the runs of the page cannot be read: %w", err)
	}
	return runs, nil
}

// Update writes the page at a path, with the runs that it has and one more. A run of the same name is
// replaced. The file is replaced as a whole, so that a reader sees the old page or the new one.
func Update(path, title string, run *Run) error {
	var runs []*Run
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		runs, err = Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	runs = append(slices.DeleteFunc(runs, func(r *Run) bool { return r.Name == run.Name }), run)
	var out bytes.Buffer
	if err := HTML(&out, title, runs...); err != nil {
		return err
	}
	next := path + ".new"
	err = os.WriteFile(next, out.Bytes(), 0o666)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}
