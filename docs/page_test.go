package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opgen/opgen/test/outside"
)

// codeBlock is a block of code between fences: the words after the opening fence, and the code.
var codeBlock = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// follower does what pages say, in a folder.
type follower struct {
	t       *testing.T
	dir     string
	env     []string       // in addition to that of the test
	printed string         // by the last commands
	seconds float64        // of processor time, of all commands
	kinds   map[string]int // how many blocks of each kind there were
}

// follow does what the blocks of a page say: it writes files, which begin with their paths in a comment, runs
// commands, and compares what they print with the text that follows them. start is called with the code of
// each block of commands and returns what to run.
func (f *follower) follow(page string, start func(code string) string) {
	f.t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		f.t.Fatal(err)
	}
	f.kinds = map[string]int{}
	for _, block := range codeBlock.FindAllStringSubmatchIndex(string(text), -1) {
		kind, code := string(text[block[2]:block[3]]), string(text[block[4]:block[5]])
		at := fmt.Sprintf("%s:%d", page, 1+strings.Count(string(text[:block[0]]), "\n"))
		f.kinds[kind]++
		switch kind {
		case "go", "toml":
			f.write(at, kind, code)
		case "sh":
			f.run(at, start(code))
		case "text":
			if f.printed != code {
				f.t.Errorf("%s: the page says\n%sgot\n%s", at, code, f.printed)
			}
		default:
			f.t.Errorf("%s: a block of %q: want go, toml, sh or text", at, kind)
		}
	}
}

// write writes a file that begins with its path in a comment.
func (f *follower) write(at, kind, code string) {
	f.t.Helper()
	first, _, _ := strings.Cut(code, "\n")
	name := strings.TrimSpace(strings.TrimLeft(first, "/#"))
	if filepath.Ext(name) != "."+kind {
		f.t.Fatalf("%s: a block of %s begins with %q, want its path in a comment", at, kind, first)
	}
	p := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(code), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// run runs commands with sh.
func (f *follower) run(at, script string) {
	f.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), f.env...)
	var printed, trouble strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &trouble
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("%s: %s: %v\n%s%s", at, script, err, &printed, &trouble)
	}
	seconds := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	f.seconds += seconds
	f.t.Logf("%s: %.1f s of processor time", at, seconds)
	f.printed = printed.String()
}

// goEnv returns a variable of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// downloads returns a list of proxies: the downloads of the module cache, and what the go command asks else.
func downloads(t *testing.T) string {
	t.Helper()
	return "file://" + filepath.ToSlash(filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")) + "," + goEnv(t, "GOPROXY")
}

// newFollower returns a follower in an empty folder, with caches that programs of the tests share.
func newFollower(t *testing.T, env ...string) *follower {
	t.Helper()
	dir := t.TempDir()
	return &follower{t: t, dir: dir, env: append([]string{"GOWORK=off", "XDG_CACHE_HOME=" + t.TempDir(), "GOCACHE=" + goEnv(t, "GOCACHE")}, env...)}
}

// opgenCommand stands for the command go tool opgen.
const opgenCommand = "go run github.com/opgen/opgen/cmd/opgen"

// replaced returns a function that lets this repository stand for the released module, in a module that
// commands make. From the first run of opgen on, both are in one workspace, and go run runs opgen. So
// packages of this repository are not compiled again: the go command shares none with a module that is
// replaced, nor with go tool, which compiles without -trimpath.
func (f *follower) replaced() func(code string) string {
	f.t.Helper()
	repository, err := filepath.Abs("..")
	if err != nil {
		f.t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		f.t.Fatal(err)
	}
	// go get wants modules that no build here needs, such as those of backends. A module cache may lack them.
	download := exec.Command("go", "mod", "download")
	download.Dir = repository
	if out, err := download.CombinedOutput(); err != nil {
		f.t.Fatalf("go mod download: %v\n%s", err, out)
	}
	workspace := filepath.Join(f.t.TempDir(), "go.work")
	if _, err := outside.Env(workspace, repository, f.dir); err != nil {
		f.t.Fatal(err)
	}
	f.env = append(f.env, "GOFLAGS=-trimpath", "GOPROXY=off", "GOWORK="+workspace)
	return func(code string) string {
		code = strings.ReplaceAll(code, "go tool opgen", opgenCommand)
		init, rest, _ := strings.Cut(code, "\n")
		if !strings.HasPrefix(init, "go mod init ") {
			return code
		}
		if err := os.WriteFile(filepath.Join(f.dir, "go.sum"), sums, 0o666); err != nil {
			f.t.Fatal(err)
		}
		gets, uses, ok := strings.Cut(rest, opgenCommand)
		if !ok {
			f.t.Fatalf("want a command go tool opgen, got\n%s", code)
		}
		return "export GOWORK=off GOFLAGS='-mod=mod -trimpath'\n" + init + "\ngo mod edit -replace github.com/opgen/opgen=" + repository + "\n" + gets +
			"export GOWORK='" + workspace + "' GOFLAGS=-trimpath\ngo work use\n" + opgenCommand + uses
	}
}
