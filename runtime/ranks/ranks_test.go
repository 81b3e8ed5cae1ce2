package ranks_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/ranks"
)

// together calls f with the link of each of some ranks, side by side, and returns the errors.
func together(n int, f func(l *ranks.Link) error) []error {
	errs := make([]error, n)
	var done sync.WaitGroup
	for rank, t := range ranks.Local(n) {
		done.Go(func() { errs[rank] = f(ranks.NewLink(t)) })
	}
	done.Wait()
	return errs
}

// TestMessages sends messages round a ring, and exchanges bytes.
func TestMessages(t *testing.T) {
	const n = 4
	for rank, err := range together(n, func(l *ranks.Link) error {
		next, before := (l.Rank()+1)%n, (l.Rank()+n-1)%n
		send, receive := l.Message(next, 7, 2), l.Message(before, 7, 2)
		for step := range uint64(20) {
			if err := send.Send(step, []byte{byte(l.Rank()), byte(step)}); err != nil { // all send first
				return err
			}
			var data [2]byte
			if err := receive.Receive(step, data[:]); err != nil {
				return err
			}
			if data != [2]byte{byte(before), byte(step)} {
				return fmt.Errorf("got %v", data)
			}
		}
		all, err := l.Exchange([]byte{byte(l.Rank()), 9})
		if got := fmt.Sprint(all); err == nil && got != "[[0 9] [1 9] [2 9] [3 9]]" {
			return fmt.Errorf("got %s", got)
		}
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestExpect expects messages in the order in which they are sent, and takes them in another. Their rank has
// ended by then.
func TestExpect(t *testing.T) {
	all := ranks.Local(2)
	to, from := ranks.NewLink(all[1]), ranks.NewLink(all[0])
	var expected []*ranks.Message
	for n := range 6 {
		if n == 3 { // others come before they are expected
			for k := range 6 {
				if err := from.Message(1, k, 1).Send(4, []byte{byte(k)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		expected = append(expected, to.Message(0, n, 1))
		expected[n].Expect()
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, 0, 3, 1, 4, 2} {
		var data [1]byte
		if err := expected[n].Receive(4, data[:]); err != nil || int(data[0]) != n {
			t.Errorf("message %d: got %d, %v", n, data[0], err)
		}
	}
	if err := to.Message(0, 6, 1).Receive(4, make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "rank 0: ended before it sent") {
		t.Errorf("a message that was not sent: %v", err)
	}
}

// TestMismatch receives messages that are not those that are waited for.
func TestMismatch(t *testing.T) {
	for want, send := range map[string]func(l *ranks.Link) error{
		"want message 1 of step 5 of load 0 from rank 1, got message 2 of step 5": func(l *ranks.Link) error { return l.Message(0, 2, 3).Send(5, []byte("abc")) },
		"got message 1 of step 6 of load 0":                                       func(l *ranks.Link) error { return l.Message(0, 1, 3).Send(6, []byte("abc")) },
		"want a message of 27 bytes from rank 1, got 28":                          func(l *ranks.Link) error { return l.Message(0, 1, 4).Send(5, []byte("abcd")) },
		"rank 1: enough": func(l *ranks.Link) error { return l.Fail(errors.New("enough")) },
		"rank 1: ended":  func(l *ranks.Link) error { return l.Close() },
		"got message 1 of step 5 of load 1": func(l *ranks.Link) error {
			if err := l.Agree("a plan", [32]byte{1}); err != nil {
				return err
			}
			return l.Message(0, 1, 3).Send(5, []byte("abc"))
		},
	} {
		errs := together(2, func(l *ranks.Link) error {
			if l.Rank() == 1 {
				return send(l)
			}
			m := l.Message(1, 1, 3)
			if strings.HasSuffix(want, "load 1") {
				if err := l.Agree("a plan", [32]byte{1}); err != nil {
					return err
				}
			}
			return m.Receive(5, make([]byte, 3))
		})
		if errs[0] == nil || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("got %v\nwant %s", errs[0], want)
		}
	}
	for rank, err := range together(2, func(l *ranks.Link) error { return l.Agree("a plan", [32]byte{byte(l.Rank())}) }) {
		if err == nil || !strings.Contains(err.Error(), "a plan: want the same plan on all ranks, got others on rank 0 (000000000000) and rank 1 (010000000000)") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	l := ranks.Local(2)[0]
	for _, other := range []int{-1, 0, 2} {
		if err := l.Send(other, nil).Wait(); err == nil || !strings.Contains(err.Error(), "want another rank from 0 to 1") {
			t.Errorf("rank %d: %v", other, err)
		}
	}
}
