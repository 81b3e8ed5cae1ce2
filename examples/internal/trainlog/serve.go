package trainlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/live"
)

// Live is a training that browsers of this machine see while it runs. Without a page, Update only calls its
// argument, and Close does nothing.
type Live struct {
	*live.Page // nil without a page
	*live.Server
}

// Serve shows a training while it runs, beside the earlier trainings of the page in a file, if that exists,
// with links to other pages, and prints where browsers find it.
func Serve(w io.Writer, address, title, page string, run *curves.Run, others ...*live.Page) (l Live, err error) {
	var runs []*curves.Run
	if page != "" {
		f, err := os.Open(page)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l, err
		}
		if err == nil {
			defer f.Close()
			if runs, err = curves.Read(f); err != nil {
				return l, fmt.Errorf("%s: %w", page, err)
			}
		}
	}
	runs = slices.DeleteFunc(runs, func(r *curves.Run) bool { return r.Name == run.Name })
	if l.Page, err = curves.Live(title, append(runs, run)...); err != nil {
		return Live{}, err
	}
	if l.Server, err = live.Serve(address, append([]*live.Page{l.Page}, others...)...); err != nil {
		return Live{}, err
	}
	fmt.Fprintf(w, "%s shows the training while it runs\n", l.URL())
	return l, nil
}
