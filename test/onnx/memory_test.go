//go:build onnxruntime && linux

package onnx

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// memoryCase is the network that a process of its own runs, and the memory that it took, in kB.
type memoryCase struct {
	Folder  string          `json:"folder"`
	File    string          `json:"file"`
	Model   string          `json:"model"`
	Inputs  map[string]port `json:"inputs"`
	Threads int             `json:"threads"`
	Runs    int             `json:"runs"`
}

// caseVariable is the environment variable with the case of a process of its own.
const caseVariable = "OPGEN_MEMORY_CASE"

// peak is what a process held before it read a network, and the most that it held.
type peak struct {
	Before float64 `json:"before"`
	Most   float64 `json:"most"`
}

// TestMemoryOfNetwork runs a network in a process that BenchmarkMemoryBesideRuntime starts.
func TestMemoryOfNetwork(t *testing.T) {
	text := os.Getenv(caseVariable)
	if text == "" {
		t.Skip("BenchmarkMemoryBesideRuntime starts it")
	}
	var c memoryCase
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	r := registry()
	runtime.GC()
	p := peak{Before: held(t, "VmRSS")}
	_, m := readNetwork(t, c.Folder, c.File)
	inputs, known := map[string]safetensors.Tensor{}, map[string]bool{}
	for name, x := range c.Inputs {
		inputs[name] = x.read(t, filepath.Dir(c.File))
		known[name] = !inputs[name].Type.IsFloat()
	}
	l, err := loadOn(c.Threads, true, graph.Inference, m, r, fed{tensors: inputs, known: known})
	if err != nil {
		t.Fatal(err)
	}
	for range c.Runs {
		for name, x := range inputs {
			if known[name] {
				continue
			}
			if err := l.instance.FeedBytes(name, x.Data); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.instance.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.Most = held(t, "VmHWM")
	if err := l.engine.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("peak %s\n", out)
}

// held returns a number of kB that Linux counts for this process.
func held(t *testing.T, what string) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(what + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("want a line %s in /proc/self/status, got none", what)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkMemoryBesideRuntime compares the memory that networks take here and with ONNX Runtime: the most
// that a process holds which reads one and runs it some times, and how much more that is than before it reads
// it.
func BenchmarkMemoryBesideRuntime(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var product [2]float64
	rows := 0
	fmt.Println("| case | threads | MB here | ONNX Runtime | ratio | growth here | ONNX Runtime | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|")
	eachNetwork(b, func(name, folder, file string) {
		if folder == "testdata" && os.Getenv("OPGEN_ONNX") != "" {
			return // the other folder has them, too
		}
		c := readCase(b, file)
		for _, threads := range []int{1, 2} {
			text, err := json.Marshal(memoryCase{folder, file, filepath.Join(folder, "models", c.Model), c.Inputs, threads, 10})
			if err != nil {
				b.Fatal(err)
			}
			ours := most(b, string(text), self, "-test.run", "^TestMemoryOfNetwork$")
			theirs := most(b, string(text), "node", "testdata/memory.cjs")
			growth := [2]float64{ours.Most - ours.Before, theirs.Most - theirs.Before}
			fmt.Printf("| %s | %d | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f |\n", name, threads, ours.Most/1e3, theirs.Most/1e3, ours.Most/theirs.Most, growth[0]/1e3, growth[1]/1e3, growth[0]/growth[1])
			if growth[0] > growth[1] {
				b.Errorf("%s: a network takes %.1f MB, and %.1f MB with ONNX Runtime", name, growth[0]/1e3, growth[1]/1e3)
			}
			product[0] += math.Log(ours.Most / theirs.Most)
			product[1] += math.Log(growth[0] / growth[1])
			rows++
		}
	})
	fmt.Printf("geometric mean of the ratios: %.2f, %.2f of growth\n", math.Exp(product[0]/float64(rows)), math.Exp(product[1]/float64(rows)))
}

// most starts a process three times and returns the least of the memory that it says it took. The process has
// the settings of Go's garbage collector that users have.
func most(b *testing.B, text, program string, args ...string) peak {
	b.Helper()
	least := peak{Most: math.Inf(1)}
	for range 3 {
		cmd := exec.Command(program, args...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GOGC=") || strings.HasPrefix(s, "GOMEMLIMIT=") }), caseVariable+"="+text)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		found := regexp.MustCompile(`(?m)^peak (.*)$`).FindSubmatch(out)
		if found == nil {
			b.Fatalf("want a line with a peak, got %s", out)
		}
		var p peak
		if err := json.Unmarshal(found[1], &p); err != nil {
			b.Fatal(err)
		}
		if p.Most < least.Most {
			least = p
		}
	}
	return least
}
