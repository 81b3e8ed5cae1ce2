//go:build cuda

// Compile compiles device code ahead with NVRTC, the library of the CUDA toolkit: all sources of a folder,
// for architectures or in PTX. Without arguments it prints the version of the library.
//
//	compile [DIR FORM...]
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/runtime/internal/ahead"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

func main() {
	v := cudadriver.OpenNVRTC()
	switch {
	case v == nil:
		fmt.Fprintln(os.Stderr, "compile: there is no NVRTC, which the CUDA toolkit has")
		os.Exit(1)
	case len(os.Args) > 2:
		if err := compile(v, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "compile:", err)
			os.Exit(1)
		}
	}
	fmt.Println(v.Version)
}

// compile compiles the sources of a folder. Code that is there stays as it is.
func compile(v *cudadriver.NVRTC, dir string, forms []string) error {
	paths, err := ahead.Sources(dir)
	if err != nil {
		return err
	}
	errs := make([]error, len(paths))
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				for _, form := range forms {
					if errs[i] == nil {
						errs[i] = compileFile(v, paths[i], form)
					}
				}
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", paths[i], err)
		}
	}
	fmt.Printf("%d sources for %s\n", len(paths), strings.Join(forms, ", "))
	return nil
}

// compileFile compiles a source, unless its code is there.
func compileFile(v *cudadriver.NVRTC, path, form string) error {
	to := ahead.File(path, form)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var image []byte
	if form == ahead.PTX {
		image, err = v.PTX(string(source), leastArchitecture)
	} else {
		image, err = v.Compile(string(source), form)
	}
	if err != nil {
		return err
	}
	return ahead.Write(to, image)
}

// leastArchitecture is the one for which PTX is made. It runs on all that came later.
const leastArchitecture = 80
