package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal of the system: what a command writes to the one end is read from the other.
func terminal(t *testing.T) (reads, command *os.File) {
	t.Helper()
	reads, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reads.Close() })
	if err := unix.IoctlSetPointerInt(int(reads.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(reads.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	command, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return reads, command
}

// TestProgress runs a plug-in that waits until progress is shown on the terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	reads, command := terminal(t)
	s := newSandbox(t, "specs/scale.toml")
	s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n[[plugin]]\nname = \"slow\"\ncommand = [\"sh\", \"slow.sh\"]\nout = \"out\"\n")
	s.write("slow.sh", "cat > request.json\nwhile [ ! -e shown ]; do sleep 0.1; done\necho '{\"protocol\": 1, \"files\": []}'\n")
	cmd := s.command("generate")
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, command
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	command.Close()
	seen, buffer := "", make([]byte, 1000)
	for {
		n, err := reads.Read(buffer)
		if seen += string(buffer[:n]); err != nil { // the other end is closed
			break
		}
		if strings.Contains(seen, "\r\x1b[Kopgen: making files of out, ") {
			s.write("shown", "")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(seen, "making files of out, ") || !strings.HasSuffix(seen, "\r\x1b[K") {
		t.Errorf("the terminal got %q, want a line that is removed at the end", seen)
	}
	if want := "opgen: 1 operator: 5 files created\n"; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
}
