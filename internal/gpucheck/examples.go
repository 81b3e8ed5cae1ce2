package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

// examples returns the steps of all examples.
func (c *check) examples() (list []step) {
	for _, e := range examples {
		flags := e.full
		if c.quick {
			flags = e.quick
		}
		curve := func(engine string) string { return filepath.Join(c.work, e.name+"."+engine) }
		step := func(engine string) step {
			absent := ""
			if flags == "" {
				absent = "it takes minutes on an emulator"
			}
			return step{name: e.name + " on " + engine, program: e.name, limit: 2 * time.Minute, absent: absent,
				args: append(strings.Fields(flags), "-workers", "1", "-engine", engine, "-curve", curve(engine))}
		}
		cpu, cuda := step("cpu"), step("cuda")
		cuda.judge = func(printed []byte) (string, error) {
			note, err := lastLine(printed)
			if err != nil {
				return "", err
			}
			d, steps, err := difference(curve("cpu"), curve("cuda"))
			if err == nil && !(d <= e.most) {
				err = fmt.Errorf("a loss differs by %.2g from that on the CPU, want at most %g", d, e.most)
			}
			return fmt.Sprintf("%s; the losses of %d steps differ by at most %.2g from those on the CPU", note, steps, d), err
		}
		list = append(list, cpu, cuda)
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
