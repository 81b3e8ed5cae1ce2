//go:build cuda

package cuda_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/task"
)

// sourceSet is the device code of all uses of operators, by operator.
type sourceSet struct {
	mu      sync.Mutex
	sources map[string]map[string]bool
}

// register registers the catalogue with kernels that note the device code of their uses.
func (l *sourceSet) register(r *task.Registry) error {
	var inner task.Registry
	if err := catalogue.RegisterCUDA(&inner); err != nil {
		return err
	}
	for _, o := range inner.Operators() {
		for _, s := range o.Signatures {
			t := inner.Task(s.ID)
			if t == nil {
				continue
			}
			variants := slices.Clone(t.Variants)
			for i, v := range variants {
				if k, ok := v.Kernel.(gpu.Kernel); ok {
					variants[i].Kernel = noted{l, o.Name, k}
				}
			}
			if err := r.RegisterTask(t.ID, t.Name, s, variants...); err != nil {
				return err
			}
		}
	}
	return nil
}

// noted is a kernel whose device code a sourceSet notes.
type noted struct {
	set      *sourceSet
	operator string
	gpu.Kernel
}

func (n noted) Lower(a *task.Accessor) (*gpu.Unit, error) {
	u, err := n.Kernel.Lower(a)
	if err == nil {
		n.set.mu.Lock()
		defer n.set.mu.Unlock()
		if n.set.sources[n.operator] == nil {
			n.set.sources[n.operator] = map[string]bool{}
		}
		n.set.sources[n.operator][u.Source] = true
	}
	return u, err
}

// compile compiles the device code of all operators for two architectures, if there is a toolkit.
func (l *sourceSet) compile(t *testing.T) {
	if os.Getenv("OPGEN_CUDA_ORDER") != "" {
		return // which says how the emulator runs threads, and that another run compiles
	}
	operators := slices.Sorted(maps.Keys(l.sources))
	if len(operators) < 60 {
		t.Errorf("want device code of at least 60 operators, got %d", len(operators))
	}
	nvcc, err := exec.LookPath("nvcc")
	if err != nil {
		t.Log("there is no nvcc, so device code was compiled for the emulator only")
		return
	}
	dir := t.TempDir()
	errs := make([]error, len(operators))
	parallel.Do(len(operators), func(i int) {
		path := filepath.Join(dir, operators[i]+".cu")
		text := gpu.Prelude
		for _, s := range slices.Sorted(maps.Keys(l.sources[operators[i]])) {
			text += s
		}
		if errs[i] = os.WriteFile(path, []byte(text), 0o666); errs[i] != nil {
			return
		}
		out, err := exec.Command(nvcc, "-std=c++17", "-Werror", "all-warnings", "-gencode", "arch=compute_80,code=sm_80",
			"-gencode", "arch=compute_90,code=sm_90", "-fatbin", "-o", path+".fatbin", path).CombinedOutput()
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w\n%s", operators[i], err, out[:min(len(out), 2000)])
		}
	})
	if err := cmp.Or(errs...); err != nil {
		t.Error(err)
	}
	t.Logf("nvcc compiled the device code of %d operators", len(operators))
}
