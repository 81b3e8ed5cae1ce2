package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peers.py
var peersScript []byte

// maker makes the folder of the check.
type maker struct {
	dir, file, emulator string
	quick               bool
	out                 io.Writer
}

// programs are those of the check, by name. The paths are those of their packages.
var programs = map[string]string{"opconform": "./cmd/opconform", "digits": "./examples/digits", "charlm": "./examples/charlm", "decode": "./examples/decode", "gpubench": "./test/gpubench", "compile": "./runtime/internal/ahead/compile",
	"judge": "./test/judge"}

// forms are those in which device code is carried: for architectures, and for others.
var forms = []string{"sm_80", "sm_90", "ptx"}

// script starts the check.
const script = `#!/bin/sh
# Checks the CUDA backend on this machine's GPU, in at most 8 minutes. The report is gpu-check.md, or what -report names.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/bin/gpucheck" run -dir "$here" "$@"
`

// unpacker is what an archive begins with: it unpacks what follows its last line, and starts the check.
const unpacker = `#!/bin/sh
# Checks the CUDA backend on this machine's GPU, in at most 8 minutes: it unpacks itself to a temporary folder.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tail -n +9 "$0" | tar -xz -C "$dir"
status=0; "$dir/check" "$@" || status=$?
exit $status
`

// make makes the folder. With quick, it also runs the check.
func (m *maker) make(ctx context.Context) error {
	for _, path := range []*string{&m.dir, &m.file, &m.emulator} {
		if err := absolute(path); err != nil {
			return err
		}
	}
	if err := m.build(ctx); err != nil {
		return err
	}
	if m.emulator == "" {
		dir, err := os.MkdirTemp("", "emulator")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := m.do(ctx, "go", "run", "./internal/cudaemu/build", "-o", dir); err != nil {
			return err
		}
		m.emulator = dir
	}
	c := &check{dir: m.dir, report: filepath.Join(m.dir, "emulator.md"), emulator: m.emulator, quick: m.quick, limit: time.Hour, out: m.out}
	if m.quick {
		return c.run(ctx)
	}
	return m.carry(ctx, c)
}

// build builds the programs, and puts the other files beside them.
func (m *maker) build(ctx context.Context) error {
	bin := filepath.Join(m.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	flags := []string{"-trimpath", "-tags", "cuda", "-ldflags", "-s -w", "-o"}
	for name, path := range programs {
		if err := m.do(ctx, "go", append(append([]string{"build"}, flags...), filepath.Join(bin, name), path)...); err != nil {
			return err
		}
	}
	if err := m.do(ctx, "go", append(append([]string{"test", "-c"}, flags...), filepath.Join(bin, "cuda.test"), "./runtime/cuda")...); err != nil {
		return err
	}
	if err := m.do(ctx, "go", "build", "-trimpath", "-o", filepath.Join(bin, "gpucheck"), "./internal/gpucheck"); err != nil {
		return err
	}
	cases, peers := filepath.Join(m.dir, "cases"), filepath.Join(m.dir, "peers") // Python imports what lies beside a script, so nothing else does
	if err := errors.Join(os.RemoveAll(cases), os.RemoveAll(peers), os.Mkdir(peers, 0o755)); err != nil {
		return err
	}
	return errors.Join(os.CopyFS(cases, os.DirFS("runtime/conform/testdata")), os.WriteFile(filepath.Join(peers, "peers.py"), peersScript, 0o644),
		os.WriteFile(filepath.Join(m.dir, "check"), []byte(script), 0o755))
}

// carry runs the check on the emulator to get the sources of all device code, compiles them and packs all.
func (m *maker) carry(ctx context.Context, c *check) error {
	c.sources = filepath.Join(m.dir, "ahead")
	old, err := filepath.Glob(filepath.Join(c.sources, "*.cu"))
	for _, path := range old { // of an earlier folder; code of sources that come again stays
		err = errors.Join(err, os.Remove(path))
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil {
		err = m.do(ctx, filepath.Join(m.dir, "bin", "compile"), append([]string{c.sources}, forms...)...)
	}
	if err == nil {
		err = prune(c.sources)
	}
	if err != nil || m.file == "" {
		return err
	}
	if err := m.pack(); err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	info, err := os.Stat(m.file)
	if err == nil {
		fmt.Fprintf(m.out, "%s has %d MiB\n", m.file, info.Size()>>20)
	}
	return err
}

// prune removes code from a folder whose source is no longer there.
func prune(dir string) error {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		source := strings.TrimSuffix(f.Name(), filepath.Ext(f.Name())) + ".cu"
		if _, absent := os.Stat(filepath.Join(dir, source)); errors.Is(absent, fs.ErrNotExist) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// do runs a command that says what it does. The programs need cgo.
func (m *maker) do(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	cmd.Stdout, cmd.Stderr = m.out, m.out
	fmt.Fprintln(m.out, name, strings.Join(args, " "))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// pack writes the archive. Sources of device code are left out.
func (m *maker) pack() (err error) {
	f, err := os.OpenFile(m.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.WriteString(f, unpacker); err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	err = fs.WalkDir(os.DirFS(m.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".cu") {
			return err
		}
		return add(w, filepath.Join(m.dir, path), path, d)
	})
	return errors.Join(err, w.Close(), z.Close())
}

// add adds a file to an archive.
func add(w *tar.Writer, path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
