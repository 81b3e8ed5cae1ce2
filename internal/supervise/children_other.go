//go:build !unix

package supervise

import (
	"os"
	"syscall"
)

// passedOn lists the signals after which the command is killed.
var passedOn = []os.Signal{os.Interrupt}

func ends(os.Signal) bool { return true }

func attributes() *syscall.SysProcAttr { return nil }

// watchChildren finds no processes.
func watchChildren() (kill func() int) { return func() int { return 0 } }

// killGroup kills a process.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may be over
	}
}

// statusOf returns the exit status of a process.
func statusOf(state *os.ProcessState) int { return state.ExitCode() }
