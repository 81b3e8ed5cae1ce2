package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// example is a program that trains a network.
type example struct {
	name, quick, full string // its flags; "" to leave it out
	most              float64
}

// examples are the programs of the folder examples that train on a GPU. Each is run on the CPU and on the
// GPU, and the losses of all steps are compared.
var examples = []example{
	{"digits", "-epochs 1 -batch 64", "-epochs 3", 5e-3},
	{"charlm", "", "-context 16 -width 32 -heads 2 -layers 2 -batch 16 -sample 0 -steps 60", 5e-3}, // which answers for a long text at the end
}

// oneKernel makes programs run the launches of a plan as one kernel.
const oneKernel = "OPGEN_CUDA_KERNEL=one"

// examples returns the steps of all examples.
func (c *check) examples() (list []step) {
	for _, e := range examples {
		flags := e.full
		if c.quick {
			flags = e.quick
		}
		// On the CPU, on the GPU, and there as one kernel, with the losses of launches.
		for _, way := range []struct {
			name, engine, of string
			env              []string
			most             float64
		}{{"on cpu", "cpu", "", nil, 0}, {"on cuda", "cuda", "on cpu", nil, e.most}, {"as one kernel", "cuda", "on cuda", []string{oneKernel}, 0}} {
			curve := func(way string) string { return filepath.Join(c.work, e.name+" "+way) }
			s := step{name: e.name + " " + way.name, program: e.name, limit: 2 * time.Minute, env: way.env,
				args: append(strings.Fields(flags), "-workers", "1", "-engine", way.engine, "-curve", curve(way.name))}
			if flags == "" {
				s.absent = slow
			}
			if way.of != "" {
				s.judge = func(printed []byte) (string, error) {
					note, err := lastLine(printed)
					if err != nil {
						return "", err
					}
					d, steps, err := difference(curve(way.of), curve(way.name))
					if err == nil && !(d <= way.most) {
						err = fmt.Errorf("a loss differs by %.2g from that %s, want at most %g", d, way.of, way.most)
					}
					return fmt.Sprintf("%s; the losses of %d steps differ by at most %.2g from those %s", note, steps, d, way.of), err
				}
			}
			list = append(list, s)
		}
	}
	for _, slots := range []int{1, 4, 16} {
		list = append(list, c.decode(slots)...)
	}
	return list
}

// slow is why the emulator leaves out a step of the quick check.
const slow = "it takes minutes on an emulator"

// decode returns the steps that continue texts, some at a time, by launches and as one kernel. Both have the
// same products, those of device code, so the texts are the same.
func (c *check) decode(slots int) (list []step) {
	var want []string
	continued := func(printed []byte) (string, error) {
		parts := strings.Split(strings.TrimSpace(string(printed)), "\n\n")
		last := parts[len(parts)-1]
		got := slices.Sorted(slices.Values(parts[:len(parts)-1])) // texts end in any order
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			return "", fmt.Errorf("the texts differ from those of launches: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return last, nil
	}
	for _, way := range []struct {
		name string
		env  []string
	}{{"on cuda", nil}, {"as one kernel", []string{oneKernel}}} {
		s := step{name: fmt.Sprintf("decode of %d %s", slots, way.name), program: "decode", limit: time.Minute, env: append(way.env, "OPGEN_LIBCUBLAS=none"), judge: continued,
			args: []string{"-engine", "cuda", "-workers", "1", "-slots", fmt.Sprint(slots), "-pages", fmt.Sprint(8 * slots)}}
		for i := range 16 {
			s.args = append(s.args, "-prompt", fmt.Sprintf("Exper. %d. ", i))
		}
		if c.quick {
			s.absent = slow
		}
		list = append(list, s)
	}
	return list
}

// difference returns the greatest difference between the losses of two files, and how many there are. A loss
// is the last word of a line.
func difference(a, b string) (most float64, steps int, err error) {
	x, errX := losses(a)
	y, errY := losses(b)
	switch err := errors.Join(errX, errY); {
	case err != nil:
		return 0, 0, err
	case len(x) != len(y) || len(x) == 0:
		return 0, 0, fmt.Errorf("want as many losses of both, got %d and %d", len(x), len(y))
	}
	for i := range x {
		most = math.Max(most, math.Abs(x[i]-y[i])) // NaN stays
	}
	return most, len(x), nil
}

func losses(path string) (out []float64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the training wrote no losses: %w", err)
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		v, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, v)
	}
	return out, nil
}
