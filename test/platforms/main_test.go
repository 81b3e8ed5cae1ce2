package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun checks a module with a constant that integers of 32 bits do not hold, and a function that one
// system lacks.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.com/m\n\ngo 1.26\n",
		"m.go":             "package m\n\nimport \"math\"\n\nvar Most = float64(math.MaxInt32)\n\nvar large int = 1 << 40\n\nfunc System() string { return name() }\n",
		"name_linux.go":    "package m\n\nfunc name() string { return \"linux\" }\n",
		"inner/inner.go":   "package inner\n\nimport _ \"example.com/m\"\n",
		"other/other.go":   "package other\n\nvar X = 1\n",
		"other/x_arm64.go": "package other\n\nvar Y = Z\n",
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string][]string{
		"linux/amd64":   nil,
		"linux/386":     {"m.go:7:17: ", "overflow"},
		"windows/amd64": {"m.go:9:31: undefined: name"},
		"linux/arm64":   {"undefined: Z"},
	} {
		var out bytes.Buffer
		err := run(&out, dir, []string{"./..."}, []string{platform})
		if (err == nil) != (len(want) == 0) {
			t.Errorf("%s: got %v\n%s", platform, err, &out)
		}
		for _, s := range want {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%s: want %q in\n%s", platform, s, &out)
			}
		}
	}
	for _, c := range []struct{ pattern, platform, want string }{{"./...", "linux", `want SYSTEM/PROCESSOR, got "linux"`}, {"./nothing/...", "linux/arm", "1 errors"}} {
		if err := run(&bytes.Buffer{}, dir, []string{c.pattern}, []string{c.platform}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
