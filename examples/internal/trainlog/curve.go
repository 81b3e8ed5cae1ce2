package trainlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Curve is the file with the loss of every step, a line each; without a path it is nowhere.
type Curve struct {
	*bufio.Writer
	file *os.File
}

// OpenCurve opens the file. If the training goes on, it keeps the lines of the steps before the first one,
// which stay on the disk all the time: the next training may have to go on from the same checkpoint. It is an
// error if there are fewer lines.
func OpenCurve(path string, first int) (_ *Curve, err error) {
	if path == "" {
		return &Curve{Writer: bufio.NewWriter(io.Discard)}, nil
	}
	flags := os.O_RDWR
	if first == 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) <= first {
		return nil, fmt.Errorf("%s: want the losses of %d steps, got %d", path, first, len(lines)-1)
	}
	end := int64(len(bytes.Join(lines[:first], nil)))
	if err := f.Truncate(end); err != nil {
		return nil, err
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return nil, err
	}
	return &Curve{bufio.NewWriter(f), f}, nil
}

// Sync writes the losses so far to the disk.
func (c *Curve) Sync() error {
	if err := c.Flush(); err != nil || c.file == nil {
		return err
	}
	return c.file.Sync()
}

// Close writes the rest and closes the file.
func (c *Curve) Close() error {
	if c.file == nil {
		return nil
	}
	return errors.Join(c.Flush(), c.file.Close())
}
