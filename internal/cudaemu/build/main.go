// Command build builds the emulator of CUDA's driver API, for tests on machines without a GPU.
//
//	go run ./internal/cudaemu/build -o DIR
//
// DIR/libcuda.so.1 is the driver, for OPGEN_LIBCUDA. DIR/compile.sh compiles CUDA C++ for it, for
// OPGEN_CUDA_COMPILER. It takes g++, and the headers of the CUDA toolkit.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/opgen/opgen/internal/cudaemu"
)

func main() {
	dir := flag.String("o", "", "the `folder` to build in")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := cudaemu.Build(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "cudaemu:", err)
		os.Exit(1)
	}
}
