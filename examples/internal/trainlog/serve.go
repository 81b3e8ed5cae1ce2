package trainlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/opgen/opgen/runtime/curves"
)

// Serve shows a training while it runs, beside the earlier trainings of the page in a file, if that exists,
// and prints where browsers find it. It returns nil for the address "".
func Serve(w io.Writer, address, title, page string, run *curves.Run) (*curves.Live, error) {
	if address == "" {
		return nil, nil
	}
	var runs []*curves.Run
	if page != "" {
		f, err := os.Open(page)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			defer f.Close()
			if runs, err = curves.Read(f); err != nil {
				return nil, fmt.Errorf("%s: %w", page, err)
			}
		}
	}
	runs = slices.DeleteFunc(runs, func(r *curves.Run) bool { return r.Name == run.Name })
	live, err := curves.Serve(address, title, append(runs, run)...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "%s shows the training while it runs\n", live.URL())
	return live, nil
}
