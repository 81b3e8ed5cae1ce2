//go:build unix

package supervise

import (
	"os"
	"syscall"
)

// passedOn lists the signals that the command gets, too.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// ends reports whether a signal asks a process to end.
func ends(s os.Signal) bool { return s != syscall.SIGUSR1 && s != syscall.SIGUSR2 }

// killGroup kills the processes of the group that a process began.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// statusOf returns the exit status that shells give a process.
func statusOf(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}
