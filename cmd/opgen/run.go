package main

import (
	"fmt"
	"strconv"

	"github.com/opgen/opgen/internal/supervise"
)

// restartsUsually is how often run starts a command again if no flag says so.
const restartsUsually = 3

// run starts a command again when it fails. The exit status is that of the command.
func (c *command) run() int {
	restarts := restartsUsually
	if c.restarts != "" {
		var err error
		if restarts, err = strconv.Atoi(c.restarts); err != nil || restarts < 0 {
			return c.fail(fmt.Errorf("-restarts: want a number from 0, got %q", c.restarts))
		}
	}
	j := &supervise.Job{Command: c.args, Dir: c.dir, Restarts: restarts, Fewer: c.fewer, Stdout: c.stdout, Stderr: c.stderr,
		Say: func(line string) { fmt.Fprintln(c.stderr, "opgen:", line) }}
	status, err := j.Run()
	if err != nil {
		return c.fail(err)
	}
	return status
}
