//go:build chromium

package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var pictures = flag.String("pictures", "", "write pictures of pages to this `folder`")

// wait is how long a page may take, on a machine that does much else.
const wait = 60 * time.Second

// browser is a Chromium that draws without a window. It is told what to do by the DevTools protocol, whose
// messages go through two pipes.
type browser struct {
	t        *testing.T
	commands *os.File
	messages *bufio.Reader
	last     int      // number of the last command
	trouble  []string // errors on the console of the page
	requests []string // addresses that the page asked for
}

// message is an answer to a command, or an event.
type message struct {
	ID     int
	Method string
	Params struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text, URL string }
		Type             string
		Args             []struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	Error  *struct{ Message string }
	Result json.RawMessage
}

// start starts Chromium with an empty page.
func start(t *testing.T) *browser {
	t.Helper()
	theirs, commands, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	messages, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "opgen-page") // not of t, which fails where a process of the browser still writes into it
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+profile, "--window-size=1500,950")
	cmd.ExtraFiles = []*os.File{theirs, answers} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		os.RemoveAll(profile)
		t.Fatal(err)
	}
	theirs.Close()
	answers.Close()
	b := &browser{t: t, commands: commands, messages: bufio.NewReader(messages)}
	t.Cleanup(func() {
		commands.Write([]byte(`{"id":0,"method":"Browser.close"}` + "\x00"))
		io.Copy(io.Discard, b.messages) // until it is closed
		commands.Close()
		messages.Close()
		cmd.Wait()
		for range 50 {
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if err := messages.SetReadDeadline(time.Now().Add(10 * wait)); err != nil {
		t.Fatal(err)
	}
	return b
}

// tell sends a command and returns its result. It notes the events before.
func (b *browser) tell(session, method string, params, result any) {
	b.t.Helper()
	b.last++
	command, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{b.last, session, method, params})
	if err == nil {
		_, err = b.commands.Write(append(command, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		text, err := b.messages.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.t.Fatalf("%s: %v: %s", method, err, text)
		}
		b.note(&m)
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v: %s", method, err, m.Result)
			}
		}
		return
	}
}

// note keeps in mind what the page asked for, and what is wrong with it.
func (b *browser) note(m *message) {
	p := &m.Params
	switch m.Method {
	case "Network.requestWillBeSent":
		if !strings.HasPrefix(p.Request.URL, "data:") {
			b.requests = append(b.requests, p.Request.URL)
		}
	case "Log.entryAdded":
		b.trouble = append(b.trouble, fmt.Sprintf("%s: %s %s", p.Entry.Level, p.Entry.Text, p.Entry.URL))
	case "Runtime.consoleAPICalled":
		b.trouble = append(b.trouble, fmt.Sprintf("%s: %v", p.Type, p.Args))
	case "Runtime.exceptionThrown":
		b.trouble = append(b.trouble, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	}
}

// tab is a page in a browser.
type tab struct {
	*browser
	session string
	took    time.Duration // until the page was ready
}

// open opens a page, a file or an address, in a tab of its own, and waits until it is ready. scheme is dark
// or light.
func (b *browser) open(address, scheme string) *tab {
	b.t.Helper()
	if !strings.HasPrefix(address, "http://") {
		address = "file://" + address
	}
	var target struct{ TargetID string }
	b.tell("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.tell("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{browser: b, session: attached.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.tell(p.session, domain+".enable", nil, nil)
	}
	p.tell(p.session, "Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	p.tell(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.trouble, b.requests = nil, nil
	begin := time.Now()
	p.tell(p.session, "Page.navigate", map[string]any{"url": address}, nil)
	p.until("document.body && (document.body.dataset.ready || document.body.dataset.failed) || ''")
	p.took = time.Since(begin)
	if failed := p.text("document.body.dataset.failed || ''"); failed != "" {
		b.t.Fatalf("the page failed: %s", failed)
	}
	return p
}

// text returns the text that a script evaluates to.
func (p *tab) text(script string) string {
	p.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	p.tell(p.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", script, got.ExceptionDetails.Exception.Description)
	}
	return fmt.Sprint(got.Result.Value)
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
	var got struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.tell(p.session, "Performance.getMetrics", nil, &got)
	for _, m := range got.Metrics {
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
	var shot struct{ Data string }
	p.tell(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), data, 0o666)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// close closes the tab.
func (p *tab) close() { p.t.Helper(); p.tell(p.session, "Page.close", nil, nil) }
