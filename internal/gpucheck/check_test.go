//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder makes a folder of a check whose programs are scripts, by name.
func folder(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// good are programs that pass.
func good() map[string]string {
	return map[string]string{
		"gpubench": `case "$1" in
device) echo '{"name":"a GPU","arch":"sm_90","memory":1048576,"driver":12040}' ;;
*) echo '{"group":"copy","name":"copy","seconds":0.001,"bytes":2e9}
{"group":"memory","name":"relu | f32","seconds":0.002,"bytes":2e9}
{"group":"product","name":"matmul","seconds":0.5,"flops":1e12}
{"group":"network","name":"MLP forward","seconds":0.003}' ;;
esac`,
		"opconform": `[ "$OPGEN_CUDA_AHEAD" ] || exit 3; echo line; echo "504 passed, 0 failed, 0 skipped"`,
		"cuda.test": `[ "$OPGEN_CUDA_DEVICES" = 0,0 ] && [ "$OPGEN_LIBCUDA" ] && echo PASS`,
		"compile":   "exit 1",
		"charlm":    `for last; do :; done; echo 2 0x1p-1 >"$last"`,
		"digits":    `for last; do :; done; printf '1 1 0x1p-1\n1 2 0x1p-2\n' >"$last"; echo test_accuracy=0.9`,
		"decode":    `[ "$OPGEN_CUDA_KERNEL" ] && printf 'a|b\n\nc|d\n\ntokens/s=9\n' || printf 'c|d\n\na|b\n\ntokens/s=5\n'`,
	}
}

// checked runs a check of programs, without PyTorch and compute-sanitizer, and returns what it printed and
// its report.
func checked(t *testing.T, scripts map[string]string, limit time.Duration) (printed, report string, err error) {
	t.Helper()
	t.Setenv("PATH", "/bin/nowhere:"+filepath.Dir(shell(t)))
	dir := folder(t, scripts)
	var out bytes.Buffer
	c := &check{dir: dir, report: filepath.Join(dir, "report.md"), limit: limit, out: &out}
	err = c.run(t.Context())
	data, errRead := os.ReadFile(c.report)
	if errRead != nil {
		t.Fatal(errRead)
	}
	return out.String(), string(data), err
}

// shell returns the path of a link to the shell, in a folder with nothing else.
func shell(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sh")
	if err := os.Symlink("/bin/sh", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPasses(t *testing.T) {
	printed, report, err := checked(t, good(), time.Minute)
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	for _, want := range []string{
		"Device: a GPU (sm_90).",
		"| device | passed |", "a GPU, sm_90, 1 MiB, driver for CUDA 12.4",
		"| conformance | passed |", "504 passed, 0 failed, 0 skipped",
		"the losses of 2 steps differ by at most 0 from those on cpu", "the losses of 2 steps differ by at most 0 from those on cuda",
		"| decode of 4 as one kernel | passed |", "tokens/s=9", "| networks as one kernel | passed |",
		"| PyTorch | left out | 0.0 | there is no python3 |",
		"| code of the run-time compiler | left out | 0.0 | there is no NVRTC |",
		`| relu \| f32 | 2000.0 | 1000 GB/s | 50 % |`,
		"| matmul | 500000.0 | 2.00 TFLOP/s |",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("want %q in the report\n%s", want, report)
		}
	}
}

// TestTable compares the table of made-up figures with what it should say. Figures of PyTorch stand beside
// those of the same use.
func TestTable(t *testing.T) {
	c := &check{
		figures: []figure{{Group: "copy", Name: "copy", Seconds: 1e-3, Bytes: 2e9}, {Group: "network", Name: "MLP step", Seconds: 3e-3},
			{Group: "network", Name: "MLP step, without graphs", Seconds: 6e-3}, {Group: "product", Name: "product", Seconds: 1, Flops: 3e12}},
		torch: []figure{{Name: "MLP step", Seconds: 4e-3}, {Name: "MLP step, CUDA graph", Seconds: 2e-3}, {Name: "product", Seconds: 0.5}},
	}
	var s strings.Builder
	c.table(&s)
	for _, want := range []string{
		"| copy | 1000.0 | 2000 GB/s | 100 % | | | | |\n",
		"| MLP step | 3000.0 |  |  | 4000.0 | 0.75 | 2000.0 | 1.50 |\n",
		"| MLP step, without graphs | 6000.0 |  |  | 4000.0 | 1.50 | 2000.0 | 3.00 |\n",
		"| product | 1000000.0 | 3.00 TFLOP/s |  | 500000.0 | 2.00 | | |\n",
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("want %q in\n%s", want, &s)
		}
	}
}

// TestFails breaks one program at a time. The report has the end of what it printed.
func TestFails(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"gpubench":  {"echo no driver >&2; exit 1", "no driver"},
		"opconform": {"echo '3 failed'; exit 1", "3 failed"},
		"cuda.test": {"exec sleep 60", "it took longer than"},
		"digits":    {`for last; do :; done; case "$last" in *cuda) echo 1 1 9 ;; *) echo 1 1 0x1p-1 ;; esac >"$last"`, "a loss differs by 8.5 from that on cpu"},
		"charlm":    {`for last; do :; done; case "$last" in *kernel) echo 1 1 0.5001 ;; *) echo 1 1 0x1p-1 ;; esac >"$last"`, "from that on cuda, want at most 0"},
		"decode":    {`[ "$OPGEN_CUDA_KERNEL" ] && printf 'a|B\n\ntokens/s=9\n' || printf 'a|b\n\ntokens/s=5\n'`, "the texts differ from those of launches: got\na|B\nwant\na|b"},
	} {
		scripts := good()
		scripts[name] = tt.script
		limit := time.Minute
		if name == "cuda.test" {
			limit = 500 * time.Millisecond
			scripts["cuda.test"] = "while :; do :; done"
		}
		_, report, err := checked(t, scripts, limit)
		if !errors.Is(err, errFailed) || !strings.Contains(report, "| FAILED |") || !strings.Contains(report, tt.want) {
			t.Errorf("%s: got %v\n%s", name, err, report)
		}
	}
}

// TestDifference compares files of losses.
func TestDifference(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a", "1 1 0x1p-1\n\n1 2 0x1p-2\n")
	if d, n, err := difference(a, file("b", "0.5\n0.75\n")); d != 0.5 || n != 2 || err != nil {
		t.Errorf("got %v, %d, %v, want 0.5 of 2", d, n, err)
	}
	if d, _, err := difference(a, file("nan", "NaN\n0.25\n")); d == d || err != nil {
		t.Errorf("got %v, %v, want NaN", d, err)
	}
	for _, b := range []string{filepath.Join(dir, "nowhere"), file("short", "1\n"), file("word", "1\nword\n")} {
		if _, _, err := difference(a, b); err == nil {
			t.Errorf("%s: want an error, got none", b)
		}
	}
}

// TestPack unpacks an archive and runs it. Sources of device code are not in it.
func TestPack(t *testing.T) {
	dir := folder(t, map[string]string{"gpucheck": `echo "$@"; ls "$3" "$3/ahead"; exit 7`})
	if err := os.Mkdir(filepath.Join(dir, "ahead"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"check": script, "ahead/0.cu": "source", "ahead/0.sm_90": "code"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := &maker{dir: dir, file: filepath.Join(t.TempDir(), "archive.sh")}
	if err := m.pack(); err != nil {
		t.Fatal(err)
	}
	s := &step{name: "archive", program: m.file, args: []string{"-limit", "1m"}, limit: time.Minute}
	c := &check{work: t.TempDir(), logs: filepath.Join(t.TempDir(), "logs"), limit: time.Minute}
	r := c.step(context.Background(), s)
	if r.state != failed || !strings.Contains(r.note, "exit status 7") || !strings.Contains(r.note, "0.sm_90") || strings.Contains(r.note, "0.cu") || !strings.Contains(r.note, "-limit 1m") {
		t.Errorf("got %s: %s", r.state, r.note)
	}
	if log, err := os.ReadFile(filepath.Join(c.logs, "archive.out")); err != nil || !strings.Contains(string(log), "-limit 1m") {
		t.Errorf("got the log %q, %v, want what the archive printed", log, err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"walk"}, {"run", "-nothing"}, {"make", "-nothing"}} {
		if err := command(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: want an error, got none", args)
		}
	}
}

// TestPrune removes code whose source is gone.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.cu", "a.ptx", "a.sm_90", "b.ptx", "b.sm_80"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3 || filepath.Base(left[2]) != "a.sm_90" {
		t.Errorf("got %v, %v, want the files of a", left, err)
	}
}
