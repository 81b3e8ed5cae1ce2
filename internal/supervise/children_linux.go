package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes makes the command begin a group of processes, and end when this process ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// watchChildren makes this process the parent of processes whose own parents end. The function that it
// returns kills all children but those that there are now, and returns their number. Launchers of MPI begin
// groups of their own for ranks, so a group does not have all.
func watchChildren() (kill func() int) {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	before := children()
	return func() int {
		killed := map[int]bool{}
		for range 500 { // 5 s: those that are killed pass their children on
			now := children()
			left := 0
			for pid := range now {
				if before[pid] {
					continue
				}
				left++
				var status syscall.WaitStatus
				if done, _ := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); done == pid {
					continue // it had ended by itself, or was killed before
				}
				killed[pid] = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if left == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return len(killed)
	}
}

// children returns the processes whose parent this one is.
func children() map[int]bool {
	out := map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended
		}
		var state byte
		var parent int
		if _, err := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", &state, &parent); err == nil && parent == os.Getpid() {
			out[pid] = true
		}
	}
	return out
}
