//go:build chromium

package page

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of pages to this `folder`")

// wait is how long a page may take, on a machine that does much else.
const wait = 60 * time.Second

// browser is a Chromium that draws without a window.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// start starts Chromium.
func start(t *testing.T) *browser {
	t.Helper()
	limit, stop := context.WithTimeout(context.Background(), 10*wait) // the context of t ends before it is cleaned up
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1500, 950))
	allocator, _ := chromedp.NewExecAllocator(limit, options...)
	ctx, _ := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Errorf))
	t.Cleanup(func() {
		defer stop()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return &browser{t, ctx}
}

// tab is a page in a browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	took time.Duration // until the page was ready

	mu       sync.Mutex
	trouble  []string // errors on the console of the page
	requests []string // addresses that the page asked for
}

// note keeps in mind what the page asked for, and what is wrong with it.
func (p *tab) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *log.EventEntryAdded:
		p.trouble = append(p.trouble, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		text := string(e.Type) + ":"
		for _, a := range e.Args {
			text += " " + cmp.Or(string(a.Value), a.Description)
		}
		p.trouble = append(p.trouble, text)
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	}
}

// open opens a page, a file or an address, in a tab of its own, and waits until it is ready. scheme is dark
// or light.
func (b *browser) open(address, scheme string) *tab {
	b.t.Helper()
	if !strings.HasPrefix(address, "http://") {
		address = "file://" + address
	}
	ctx, _ := chromedp.NewContext(b.ctx)
	p := &tab{t: b.t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.note); err != nil {
		b.t.Fatal(err)
	}
	call(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	begin := time.Now()
	do(p, chromedp.Navigate(address))
	p.until("document.body && (document.body.dataset.ready || document.body.dataset.failed) || ''")
	p.took = time.Since(begin)
	if failed := p.text("document.body.dataset.failed || ''"); failed != "" {
		b.t.Fatalf("the page failed: %s", failed)
	}
	return p
}

// do runs an action and returns its result.
func do[T any](p *tab, action chromedp.Action[T]) T {
	p.t.Helper()
	result, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

// call sends a command of the DevTools protocol and returns its result.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

// text returns the text that a script evaluates to.
func (p *tab) text(script string) string {
	p.t.Helper()
	return fmt.Sprint(do(p, chromedp.Evaluate[any](script, chromedp.EvalAwaitPromise)))
}

// until waits until a script evaluates to a text that is not empty, and returns that.
func (p *tab) until(script string) string {
	p.t.Helper()
	for begin := time.Now(); time.Since(begin) < wait; time.Sleep(10 * time.Millisecond) {
		if text := p.text(script); text != "" {
			return text
		}
	}
	p.t.Fatalf("not in %v: %s\n%s", wait, script, p.text("document.body.innerText"))
	return ""
}

// processor returns the processor time of the thread that runs the scripts of the page and lays it out.
func (p *tab) processor() time.Duration {
	p.t.Helper()
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	p.t.Fatal("the browser does not say how much processor time the page took")
	return 0
}

// document returns what the page shows.
func (p *tab) document() string { p.t.Helper(); return p.text("document.documentElement.outerHTML") }

// clean fails if the browser found anything wrong with the page, or if the page asked for anything but itself
// and for addresses that begin with a prefix.
func (p *tab) clean(prefix string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, trouble := range p.trouble {
		p.t.Errorf("the browser says: %s", trouble)
	}
	for i, request := range p.requests {
		if i > 0 && (prefix == "" || !strings.HasPrefix(request, prefix)) {
			p.t.Errorf("the page asks for %s", request)
		}
	}
}

// picture writes what the page shows to a file in the folder that the flag says, if it says one.
func (p *tab) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), do(p, chromedp.CaptureScreenshot()), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// close closes the tab.
func (p *tab) close() {
	p.t.Helper()
	if err := chromedp.Cancel(p.ctx); err != nil {
		p.t.Error(err)
	}
}
