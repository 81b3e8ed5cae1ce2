package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestGuide does what the guide says, in an empty folder and offline: it writes the files, which begin with their paths
// in a comment, runs the commands, and compares what they print with the text that follows them.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("guide.md")
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(script string) string {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off", "XDG_CACHE_HOME="+dir+"/.cache", "GOCACHE="+buildCache(t))
		var printed, trouble strings.Builder
		cmd.Stdout, cmd.Stderr = &printed, &trouble
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", script, err, &printed, &trouble)
		}
		return printed.String()
	}
	var printed string
	kinds := map[string]int{}
	for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		kind, code := block[1], block[2]
		kinds[kind]++
		switch kind {
		case "go", "toml":
			if n := strings.Count(code, "\n") - 1; kind == "go" && kinds[kind] == 1 && n > 45 {
				t.Errorf("the first program has %d lines after its path, want at most 45", n)
			}
			first, _, _ := strings.Cut(code, "\n")
			name := strings.TrimSpace(strings.TrimLeft(first, "/#"))
			if filepath.Ext(name) != "."+kind {
				t.Fatalf("a block of %s begins with %q, want its path in a comment", kind, first)
			}
			write(name, code)
		case "sh":
			lines := strings.SplitAfterN(code, "\n", 2)
			if strings.HasPrefix(lines[0], "go mod init") { // this repository stands for the released module
				run(lines[0] + "go mod edit -replace github.com/opgen/opgen=" + repository)
				write("go.sum", string(sums))
				code = lines[1]
			}
			printed = run(code)
		case "text":
			if printed != code {
				t.Errorf("the guide says\n%sgot\n%s", code, printed)
			}
		default:
			t.Errorf("a block of %q: want go, toml, sh or text", kind)
		}
	}
	if kinds["go"] < 4 || kinds["toml"] < 2 || kinds["sh"] < 5 || kinds["text"] < 2 {
		t.Errorf("found blocks %v: this test looks in the wrong place", kinds)
	}
}

// buildCache returns the folder of Go's build cache.
func buildCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
