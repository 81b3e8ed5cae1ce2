package tune

import (
	"time"

	"golang.org/x/sys/unix"
)

// now returns a time from a fixed beginning: the processor time of the calling thread if it is the only
// worker, and time that passes for several.
func now(workers int) time.Duration {
	var t unix.Timespec
	if workers > 1 || unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
