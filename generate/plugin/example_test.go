package plugin_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/opgen/opgen/generate/plugin"
)

// count is a plug-in that says how long the model is.
type count struct{}

func (count) Generate(_ context.Context, r *plugin.Request) (*plugin.Response, error) {
	return &plugin.Response{Files: []plugin.File{{Path: "count.txt", Text: fmt.Sprintln(len(r.Model))}}}, nil
}

// Answer answers one request. The main function of a plug-in calls Serve, which does so with the standard
// input and output.
func ExampleAnswer() {
	in := strings.NewReader(`{"protocol": 1, "model": {}}`)
	if err := plugin.Answer(context.Background(), count{}, in, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: {"protocol":1,"files":[{"path":"count.txt","text":"2\n"}]}
}
