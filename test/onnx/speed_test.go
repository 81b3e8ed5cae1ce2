//go:build onnxruntime && unix

package onnx

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// spent is the processor time of all threads and the time of a run, in nanoseconds.
type spent [2]float64

func (s spent) least(t spent) spent { return spent{min(s[0], t[0]), min(s[1], t[1])} }

// other is ONNX Runtime in a process of its own.
type other struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startOther(b *testing.B) *other {
	cmd := exec.Command("node", "testdata/speed.cjs")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &other{in, bufio.NewScanner(out)}
}

// ask sends a request and reads the answer.
func (o *other) ask(b *testing.B, request any) (s spent) {
	text, err := json.Marshal(request)
	if err == nil {
		_, err = fmt.Fprintf(o.in, "%s\n", text)
	}
	if err == nil && !o.out.Scan() {
		err = fmt.Errorf("ONNX Runtime ended: %v", o.out.Err())
	}
	var list []float64
	if err == nil {
		err = json.Unmarshal(o.out.Bytes(), &list)
	}
	if err != nil {
		b.Fatal(err)
	}
	copy(s[:], list)
	return s
}

func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBesideRuntime times networks here and with ONNX Runtime, with 1 and 2 threads. Rounds of both take
// turns, and the least time of each counts. On a machine with other work, processor time says more than time.
func BenchmarkBesideRuntime(b *testing.B) {
	const rounds = 7
	o := startOther(b)
	type row struct {
		name    string
		threads int
		folder  string
		file    string
	}
	var rows []row
	for _, folder := range []string{"testdata", os.Getenv("OPGEN_ONNX")} {
		files, err := filepath.Glob(filepath.Join(folder, "cases", "*", "case.json"))
		if err != nil || folder == "" {
			continue
		}
		for _, file := range files {
			for _, n := range []int{1, 2} {
				rows = append(rows, row{filepath.Base(filepath.Dir(file)), n, folder, file})
			}
		}
	}
	var product [2]float64
	fmt.Println("| case | threads | processor time here, ms | ONNX Runtime | ratio | time here, ms | ONNX Runtime | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, r := range rows {
		var c networkCase
		c, m := readNetwork(b, r.folder, r.file)
		inputs, known := map[string]safetensors.Tensor{}, map[string]bool{}
		for name, p := range c.Inputs {
			inputs[name] = p.read(b, filepath.Dir(r.file))
			known[name] = !inputs[name].Type.IsFloat()
		}
		l, err := loadOn(r.threads, true, graph.Inference, m, registry(), fed{tensors: inputs, known: known})
		if err != nil {
			b.Fatal(err)
		}
		o.ask(b, map[string]any{"model": filepath.Join(r.folder, "models", c.Model), "folder": filepath.Dir(r.file), "inputs": c.Inputs, "threads": r.threads})
		here := func(n int) spent {
			cpu, begin := processorTime(), time.Now()
			for range n {
				for name := range inputs {
					if known[name] {
						continue
					}
					if err := l.instance.FeedBytes(name, inputs[name].Data); err != nil {
						b.Fatal(err)
					}
				}
				if err := l.instance.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			wall := float64(time.Since(begin))
			return spent{processorTime() - cpu, wall}
		}
		// As many runs as take 50 ms.
		n := 1
		for here(n)[1] < 5e7 {
			n *= 2
		}
		o.ask(b, n)
		ours, theirs := spent{math.Inf(1), math.Inf(1)}, spent{math.Inf(1), math.Inf(1)}
		for range rounds {
			ours, theirs = ours.least(here(n)), theirs.least(o.ask(b, n))
		}
		scale := float64(n) * 1e6
		fmt.Printf("| %s | %d | %.3f | %.3f | %.2f | %.3f | %.3f | %.2f |\n", r.name, r.threads, ours[0]/scale, theirs[0]/scale, ours[0]/theirs[0], ours[1]/scale, theirs[1]/scale, ours[1]/theirs[1])
		for i := range product {
			product[i] += math.Log(ours[i]/theirs[i]) / float64(len(rows))
		}
		if err := l.engine.Close(); err != nil {
			b.Fatal(err)
		}
	}
	fmt.Printf("geometric mean of the ratios: %.2f of processor time, %.2f of time\n", math.Exp(product[0]), math.Exp(product[1]))
}
