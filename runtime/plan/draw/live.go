package draw

import (
	"io"

	"github.com/opgen/opgen/runtime/live"
	"github.com/opgen/opgen/runtime/timeline"
)

// Live is the page of a plan whose runs change, for a server of package live.
type Live struct {
	*live.Page
	content Page
	runs    *section // guarded by the page
}

// NewLive returns the page that HTML writes. Show changes its runs.
func NewLive(page Page) (*Live, error) {
	fixed, err := page.fixed()
	if err != nil {
		return nil, err
	}
	l := &Live{content: page}
	if l.runs, err = page.runs(); err != nil {
		return nil, err
	}
	l.Page = live.NewPage("Plan "+page.Plan.Name,
		func(w io.Writer, at *live.Place) error { return document(w, page.Plan.Name, at, fixed, l.runs) },
		func(w io.Writer) error { return l.runs.write(w) })
	return l, nil
}

// Show puts other facts and timelines in place of those of the page.
func (l *Live) Show(facts []Fact, timelines ...*timeline.Timeline) error {
	content := l.content
	content.Facts, content.Timelines = facts, timelines
	runs, err := content.runs()
	if err != nil {
		return err
	}
	l.Update(func() { l.runs = runs })
	return nil
}
