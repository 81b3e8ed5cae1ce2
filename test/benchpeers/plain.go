package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/opgen/opgen/test/networks"
)

//go:embed programs/mlp.c
var plainSource string

// compileC compiles the MLP's step in C.
func compileC(dir string) (program string, err error) {
	source, program := filepath.Join(dir, "mlp.c"), filepath.Join(dir, "mlp")
	if err := os.WriteFile(source, []byte(plainSource), 0o666); err != nil {
		return "", err
	}
	if out, err := exec.Command("cc", "-O3", "-march=native", "-ffast-math", "-o", program, source, "-lm").CombinedOutput(); err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return program, nil
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
