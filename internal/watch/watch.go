// Package watch finds out when files change. It reads them again and again: that works on all file systems,
// through links, and for files that do not exist yet.
package watch

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/opgen/opgen/internal/input"
)

const (
	// interval is the time between two looks at the files.
	interval = 200 * time.Millisecond
	// settled is how long files have to stay the same before a change counts as complete.
	settled = 100 * time.Millisecond
	// coarse is longer than the unit of time stamps on any file system. Within it, a file may change and keep
	// its time stamp.
	coarse = 3 * time.Second
)

// Files watches files and folders.
type Files struct {
	known map[string]known // what was read last, by path
}

// known is the content of a file, with what the system says about the file.
type known struct {
	size  int64
	time  time.Time // of the last change
	look  time.Time // when the file was read
	value value
}

// value is a checksum of a file, or stands for what cannot be read.
type value [sha256.Size]byte

// State says what files hold, by path. Files that are absent have no entry.
type State map[string]value

// New returns a watch that has read nothing yet.
func New() *Files { return &Files{known: map[string]known{}} }

// Take reads the files, and all files in the folders and below, and returns what they hold.
func (f *Files) Take(paths []string) State {
	s := State{}
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err != nil: // it is absent, or becomes readable later
		case info.IsDir():
			err := input.Walk(p, func(p string) error {
				if info, err := os.Stat(p); err == nil {
					s[p] = f.read(p, info)
				}
				return nil
			})
			if err != nil {
				s[p] = sha256.Sum256([]byte(err.Error()))
			}
		default:
			s[p] = f.read(p, info)
		}
	}
	return s
}

// read returns the checksum of a file. It reads the file unless its time stamp shows that the content is the
// one of the last time.
func (f *Files) read(path string, info fs.FileInfo) value {
	old, ok := f.known[path]
	if ok && old.size == info.Size() && old.time.Equal(info.ModTime()) && old.look.Sub(old.time) > coarse {
		return old.value
	}
	look := time.Now()
	data, err := input.File(path)
	if err != nil {
		data = []byte(err.Error())
	}
	now := known{info.Size(), info.ModTime(), look, sha256.Sum256(data)}
	f.known[path] = now
	return now.value
}

// Wait waits until the files are not as they were, and then stay as they are for a moment. It returns the
// error of ctx if that ends first.
func (f *Files) Wait(ctx context.Context, paths []string, since State) error {
	for wait := time.Duration(0); ; wait = interval {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		now := f.Take(paths)
		if maps.Equal(now, since) {
			continue
		}
		for {
			if err := sleep(ctx, settled); err != nil {
				return err
			}
			next := f.Take(paths)
			if maps.Equal(next, now) {
				return nil
			}
			now = next
		}
	}
}

// sleep waits for a time, or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
