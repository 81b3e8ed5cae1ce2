// Package supervise starts a job again when it fails: a command, such as mpiexec, whose program goes on from
// its last checkpoint.
package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// patience is how long a job may take to end after a signal that asks it to.
const patience = 10 * time.Second

// Job is a command that is started again when it fails.
type Job struct {
	// Command is a program with its arguments, in folder Dir. It has no standard input.
	Command []string
	Dir     string
	// Restarts is how often the command is started again at most.
	Restarts int
	// Fewer says that each restart has a rank less than the run before, down to one: the number behind the
	// word -n or -np of the command.
	Fewer          bool
	Stdout, Stderr io.Writer
	// Say prints a line about what happened.
	Say func(line string)
}

// Run runs the command until it succeeds, no restart is left, or a signal asks this process to end. Signals
// are passed on to the command. Of processes that it started none is left: on Linux those of all groups, on
// other systems those of its own group.
//
// The result is the exit status of the last run, or 128 and the number of the signal that ended it. It is an
// error if the command cannot be started.
func (j *Job) Run() (status int, err error) {
	if len(j.Command) == 0 {
		return 0, errors.New("want a command, got none")
	}
	at := ranksAt(j.Command)
	if j.Fewer && at < 0 {
		return 0, fmt.Errorf("want the word -n or -np with a number of ranks in the command, got %q", j.Command)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	name := filepath.Base(j.Command[0])
	for restarts := 0; ; restarts++ {
		begin := time.Now()
		status, ended, err := j.once(signals)
		if err != nil {
			return 0, err
		}
		took := time.Since(begin).Round(100 * time.Millisecond)
		switch {
		case ended:
			j.Say(fmt.Sprintf("%s ended with status %d after %v, as the signal asked", name, status, took))
			return status, nil
		case status == 0:
			if restarts > 0 {
				j.Say(fmt.Sprintf("%s succeeded after %s", name, count(restarts, "restart")))
			}
			return 0, nil
		case restarts == j.Restarts:
			j.Say(fmt.Sprintf("%s failed with status %d after %v, and no restart is left", name, status, took))
			return status, nil
		}
		on := ""
		if j.Fewer {
			ranks, _ := strconv.Atoi(j.Command[at])
			ranks = max(ranks-1, 1)
			j.Command = slices.Clone(j.Command)
			j.Command[at], on = strconv.Itoa(ranks), " on "+count(ranks, "rank")
		}
		j.Say(fmt.Sprintf("%s failed with status %d after %v; restart %d of %d%s", name, status, took, restarts+1, j.Restarts, on))
	}
}

// ranksAt returns where the number of ranks stands among the words of a command; -1 if there is none.
func ranksAt(command []string) int {
	for i := 1; i < len(command); i++ {
		if n, err := strconv.Atoi(command[i]); err == nil && n > 0 && (command[i-1] == "-n" || command[i-1] == "-np") {
			return i
		}
	}
	return -1
}

// count returns a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// once runs the command once. ended reports whether a signal asked it to end.
func (j *Job) once(signals <-chan os.Signal) (status int, ended bool, err error) {
	runtime.LockOSThread() // the command learns of the end of the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(j.Command[0], j.Command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.Dir, j.Stdout, j.Stderr
	cmd.WaitDelay = time.Second // for processes that are left and could print
	cmd.SysProcAttr = attributes()
	left := watchChildren()
	if err := cmd.Start(); err != nil {
		return 0, false, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	var late <-chan time.Time
	for {
		select {
		case s := <-signals:
			if ends(s) {
				if ended {
					killGroup(cmd.Process.Pid) // the second one
				}
				ended, late = true, time.After(patience)
			}
			_ = cmd.Process.Signal(s) // it may be over
		case <-late:
			killGroup(cmd.Process.Pid)
		case err = <-over:
			killGroup(cmd.Process.Pid)
			if n := left(); n > 0 {
				j.Say(fmt.Sprintf("killed %d of the processes that it left", n))
			}
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
				return 0, ended, err
			}
			return statusOf(cmd.ProcessState), ended, nil
		}
	}
}
