package main

import (
	_ "embed"
	"fmt"
	"math"
	"os/exec"

	"github.com/opgen/opgen/test/networks"
)

//go:embed programs/mlp.c
var plainSource string

// compileC compiles the MLP's step in C.
func compileC(dir string) (program string, err error) {
	return compileSource(dir, "mlp", plainSource, "-O3", "-march=native", "-ffast-math")
}

// runC returns the nanoseconds of the program's fastest step in as many seconds.
func runC(program string, seconds float64) (ns float64, err error) {
	out, err := exec.Command(program, fmt.Sprint(seconds)).Output()
	if err != nil {
		return 0, err
	}
	var losses [2]float64
	if _, err := fmt.Sscan(string(out), &ns, &losses[0], &losses[1]); err != nil {
		return 0, fmt.Errorf("%s: %w", program, err)
	}
	for i, got := range losses {
		if want := networks.All[0].Losses[i+1]; !(math.Abs(got-want) <= 1e-5) {
			return 0, fmt.Errorf("plain C: want loss %v in step %d, got %v", want, i+1, got)
		}
	}
	return ns, nil
}
