package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed programs/driver.py
var driver string

//go:embed programs/formulas.py
var formulasSource string

// openMP is where Debian keeps the OpenBLAS that shares PyTorch's threads. The other one has threads of its
// own, which take the processors away from PyTorch's.
const openMP = "/usr/lib/x86_64-linux-gnu/openblas-openmp"

// peer is a process of Python with PyTorch and OpenBLAS.
type peer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version answer
}

// command is a line for the process.
type command struct {
	Do      string       `json:"do"`
	Tensors []tensorFile `json:"tensors"`
	Trained []string     `json:"trained"`
	Setup   string       `json:"setup"`
	Torch   string       `json:"torch"`
	Network string       `json:"network"`
	N       int          `json:"n"`
	Double  bool         `json:"double"`
	Budget  float64      `json:"budget"` // seconds
}

// tensorFile is a tensor whose elements are in a file.
type tensorFile struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

// answer is a line from the process.
type answer struct {
	Error        string
	Sum          float64
	Views        bool // whether PyTorch computes no gradient, but returns views of what it is given
	NS           float64
	Losses       []float64
	Peak         float64 // bytes
	Torch        string
	TorchMissing string
	Blas         string // the kind of processor whose kernels OpenBLAS uses
	BlasMissing  string
}

// start starts the process. OpenBLAS before 0.3.22 does not know recent processors of AMD: it uses kernels
// for AVX2 there, and is told to use those for AVX-512.
func start(python string, threads int, dir string, wide bool) (*peer, error) {
	script := filepath.Join(dir, "driver.py")
	for file, text := range map[string]string{script: driver, filepath.Join(dir, "formulas.py"): formulasSource} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	p := &peer{cmd: exec.Command(python, script, fmt.Sprint(threads))}
	p.cmd.Env = append(os.Environ(), fmt.Sprint("OMP_NUM_THREADS=", threads), fmt.Sprint("OPENBLAS_NUM_THREADS=", threads))
	if _, err := os.Stat(openMP); err == nil {
		p.cmd.Env = append(p.cmd.Env, "LD_LIBRARY_PATH="+openMP)
	}
	if _, set := os.LookupEnv("OPENBLAS_CORETYPE"); !set && wide {
		p.cmd.Env = append(p.cmd.Env, "OPENBLAS_CORETYPE=SkylakeX")
	}
	var errIn, errOut error
	p.in, errIn = p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	var err error
	if p.version, err = p.ask(command{Do: "versions"}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", python, err), p.stop())
	}
	return p, nil
}

// ask sends a command and waits for the answer.
func (p *peer) ask(c command) (a answer, err error) {
	line, err := json.Marshal(c)
	if err != nil {
		return a, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return a, err
	}
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", c.Do, strings.TrimSpace(a.Error))
	}
	return a, nil
}

// stop ends the process.
func (p *peer) stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
