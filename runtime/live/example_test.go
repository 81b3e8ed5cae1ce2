package live_test

import (
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/opgen/opgen/runtime/live"
)

// A program serves a page on a free port of this machine, and changes what it shows.
func Example() {
	loss := 0.5
	page := live.NewPage("loss",
		func(w io.Writer, at *live.Place) error {
			_, err := fmt.Fprintf(w, "<p>The loss is %v.", loss)
			return err
		},
		func(w io.Writer) error {
			_, err := fmt.Fprint(w, loss)
			return err
		})
	s, err := live.Serve("127.0.0.1:0", page)
	if err != nil {
		log.Fatal(err)
	}
	page.Update(func() { loss = 0.25 })
	answer, err := http.Get(s.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// <p>The loss is 0.25.
}
