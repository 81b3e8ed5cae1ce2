//go:build unix

package supervise_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opgen/opgen/internal/supervise"
)

// TestMain runs a job in a process of its own, which tests may send signals to.
func TestMain(m *testing.M) {
	if os.Getenv("OPGEN_TEST_SUPERVISE") == "" {
		os.Exit(m.Run())
	}
	restarts, _ := strconv.Atoi(os.Args[1])
	j := &supervise.Job{Command: os.Args[3:], Restarts: restarts, Fewer: os.Args[2] == "fewer", Stdout: os.Stdout, Stderr: os.Stdout,
		Say: func(line string) { fmt.Println("say:", line) }}
	status, err := j.Run()
	if err != nil {
		fmt.Println("error:", err)
		status = 2
	}
	os.Exit(status)
}

// supervised returns the process that supervises a script of the shell. Fewer may be "fewer".
func supervised(t *testing.T, restarts int, fewer string, command ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{strconv.Itoa(restarts), fewer}, command...)...)
	cmd.Env = append(os.Environ(), "OPGEN_TEST_SUPERVISE=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// took matches how long a run took, which depends on how busy the machine is.
var took = regexp.MustCompile(`after [0-9.hms]+([;,])`)

// TestRun runs jobs that fail some times: the exit status is that of the last run, and each restart is said.
func TestRun(t *testing.T) {
	t.Parallel()
	script := `echo run "$0" >>log; test $(wc -l <log) -gt "$1" || exit 7`
	for name, tt := range map[string]struct {
		restarts int
		fewer    string
		command  []string
		status   int
		runs     string
		says     []string
	}{
		"at once":    {2, "", []string{"sh", "-c", script, "x", "0"}, 0, "x", nil},
		"two fail":   {2, "", []string{"sh", "-c", script, "x", "2"}, 0, "x x x", []string{"sh failed with status 7 after 0s; restart 1 of 2", "sh failed with status 7 after 0s; restart 2 of 2", "sh succeeded after 2 restarts"}},
		"all fail":   {1, "", []string{"sh", "-c", script, "x", "9"}, 7, "x x", []string{"sh failed with status 7 after 0s; restart 1 of 1", "sh failed with status 7 after 0s, and no restart is left"}},
		"killed":     {0, "", []string{"sh", "-c", "kill -9 $$"}, 137, "", []string{"sh failed with status 137 after 0s, and no restart is left"}},
		"fewer":      {3, "fewer", []string{"sh", "-c", `echo run "$1" >>log; exit 3`, "-n", "3"}, 3, "3 2 1 1", []string{"sh failed with status 3 after 0s; restart 1 of 3 on 2 ranks", "sh failed with status 3 after 0s; restart 2 of 3 on 1 rank", "sh failed with status 3 after 0s; restart 3 of 3 on 1 rank", "sh failed with status 3 after 0s, and no restart is left"}},
		"no ranks":   {1, "fewer", []string{"sh", "-n"}, 2, "", []string{`want the word -n or -np with a number of ranks in the command, got ["sh" "-n"]`}},
		"no program": {3, "", []string{"./none"}, 2, "", []string{"fork/exec ./none: no such file or directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, out := supervised(t, tt.restarts, tt.fewer, tt.command...)
			cmd.Dir = t.TempDir()
			_ = cmd.Run()
			log, _ := os.ReadFile(filepath.Join(cmd.Dir, "log"))
			runs := strings.Join(strings.Fields(strings.ReplaceAll(string(log), "run ", "")), " ")
			var says []string
			for line := range strings.Lines(out.String()) {
				_, said, _ := strings.Cut(strings.TrimSpace(line), ": ")
				says = append(says, took.ReplaceAllString(said, "after 0s$1"))
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.status || runs != tt.runs || strings.Join(says, "\n") != strings.Join(tt.says, "\n") {
				t.Errorf("status %d, want %d; runs %q, want %q; it said\n%s", got, tt.status, runs, tt.runs, out)
			}
		})
	}
}

// waitFor waits until a file has a line, and returns its number.
func waitFor(t *testing.T, file string) int {
	t.Helper()
	for range 1000 {
		data, _ := os.ReadFile(file)
		if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no number in %s", file)
	return 0
}

// runs reports whether a process runs or is stopped.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z")
}

// TestSignals passes signals on. One that asks to end is followed by no restart, and the exit status is that
// of the command.
func TestSignals(t *testing.T) {
	t.Parallel()
	cmd, out := supervised(t, 5, "", "sh", "-c", `trap 'echo told' USR1; trap 'exit 4' TERM; echo $$ >pid; while :; do sleep 0.05; done`)
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitFor(t, filepath.Join(cmd.Dir, "pid"))
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 4 || !strings.HasPrefix(out.String(), "told\n") || !strings.Contains(out.String(), "say: sh ended with status 4 after ") {
		t.Errorf("status %d, and it printed\n%s", got, out)
	}
	if runs(pid) {
		t.Error("the command is left")
	}
}
