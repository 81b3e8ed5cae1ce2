package sysmem

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGroups reads the limits of control groups of both versions.
func TestGroups(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"memory.max":                            "9000\n",
		"a/memory.max":                          "max\n",
		"a/b/memory.max":                        "7000\n",
		"memory/old/memory.limit_in_bytes":      "18446744073709551615\n",
		"memory/memory.limit_in_bytes":          "no number\n",
		"cpu,memory/ignored/memory.limit_bytes": "1\n",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "cgroup")
	for text, want := range map[string][]int64{
		"":                               nil,
		"nonsense\n0:\n":                 nil,
		"0::/a/b\n":                      {7000, 9000},
		"0::/../..\n":                    {9000},
		"0::/gone\n":                     {9000},
		"3:cpu:/a/b\n4:memory,pids:/old": {math.MaxInt64},
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := groups(file, root); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if got := groups(filepath.Join(root, "none"), root); got != nil {
		t.Errorf("without the file: %v", got)
	}
}

// TestLimit asks for the limit of this process.
func TestLimit(t *testing.T) {
	t.Parallel()
	if got := Limit(); got <= 0 || got == math.MaxInt64 {
		t.Errorf("got %d, want the memory of this machine", got)
	}
}
