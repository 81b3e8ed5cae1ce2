//go:build unix && !linux

package supervise

import "syscall"

// attributes makes the command begin a group of processes.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// watchChildren finds no processes outside of the group.
func watchChildren() (kill func() int) { return func() int { return 0 } }
