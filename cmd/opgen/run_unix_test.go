//go:build unix

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestRunCommand starts a command again, with flags of its own behind the word --. The exit status is that of
// its last run.
func TestRunCommand(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args   []string
		status int
		said   string
	}{
		{[]string{"run", "-C", dir, "-restarts", "2", "-fewer", "--", "sh", "-c", `echo on "$2"; test "$2" = 1`, "-C", "-n", "3"}, 0,
			"on 3\non 2\non 1\n|opgen: sh failed with status 1 after 0s; restart 1 of 2 on 2 ranks\nopgen: sh failed with status 1 after 0s; restart 2 of 2 on 1 rank\nopgen: sh succeeded after 2 restarts\n"},
		{[]string{"run", "-restarts", "0", "--", "sh", "-c", "exit 9"}, 9, "|opgen: sh failed with status 9 after 0s, and no restart is left\n"},
		{[]string{"run", "-restarts", "-1", "--", "sh"}, trouble, "|opgen: -restarts: want a number from 0, got \"-1\"\n"},
		{[]string{"run", "--", "./none"}, trouble, "|opgen: fork/exec ./none: no such file or directory\n"},
		{[]string{"run", "-fewer", "--", "sh", "-c", "exit 1"}, trouble, "|opgen: want the word -n or -np with a number of ranks in the command, got [\"sh\" \"-c\" \"exit 1\"]\n"},
	} {
		var out, errs bytes.Buffer
		status := run(tt.args, &out, &errs)
		said := regexp.MustCompile(`after [0-9.hms]+([;,])`).ReplaceAllString(out.String()+"|"+errs.String(), "after 0s$1") // a busy machine is slow
		if status != tt.status || said != tt.said {
			t.Errorf("%s: status %d, and it printed\n%s|%s", strings.Join(tt.args, " "), status, &out, &errs)
		}
	}
}
