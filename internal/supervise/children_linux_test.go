package supervise_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLeavesNothing ends processes that a job leaves: one that is stopped, in a group of its own, and one
// that ignores signals.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd, out := supervised(t, 0, "", "sh", "-c", `
setsid sh -c 'echo $$ >group; kill -STOP $$' >/dev/null &
sh -c 'trap "" TERM HUP INT; echo $$ >deaf; while :; do sleep 0.05; done' >/dev/null &
while ! test -s group || ! test -s deaf; do sleep 0.01; done
exit 5`)
	cmd.Dir = t.TempDir()
	begin := time.Now()
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 5 || time.Since(begin) > 8*time.Second || !strings.Contains(out.String(), "of the processes that it left") {
		t.Errorf("status %d after %v, and it printed\n%s", got, time.Since(begin), out)
	}
	for _, name := range []string{"group", "deaf"} {
		if pid := waitFor(t, filepath.Join(cmd.Dir, name)); runs(pid) {
			t.Errorf("process %s is left", name)
		}
	}
}

// TestDies kills the supervisor: the job is told to end.
func TestDies(t *testing.T) {
	t.Parallel()
	cmd, out := supervised(t, 3, "", "sh", "-c", `echo $$ >pid; while :; do sleep 0.05; done`)
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitFor(t, filepath.Join(cmd.Dir, "pid"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 200 {
		if !runs(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the job is left; it printed\n%s", out)
}
