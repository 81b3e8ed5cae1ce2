package generate

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// Place is a range of a file, with a message about it. File is empty if the message is about no file.
type Place struct {
	File      string `json:"file,omitempty"` // relative to the module's root, with slashes
	Line      int    `json:"line,omitempty"` // lines and columns count from 1, columns in characters
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
	Message   string `json:"message"`
}

// Edit replaces the bytes from Start to End-1 of a file. Bytes count from 0.
type Edit struct {
	File  string `json:"file"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	New   string `json:"new"`
}

// Finding is a mistake in a spec, in opgen.toml, in a kernel or in a plug-in.
type Finding struct {
	Code string `json:"code"` // a code never changes its meaning
	Rule string `json:"rule"`
	URL  string `json:"url"` // the documentation of the code
	Place
	Hint    string  `json:"hint,omitempty"` // how to correct it
	Related []Place `json:"related,omitempty"`
	// Edits correct the finding. There are none unless the correction is certain.
	Edits []Edit `json:"edits,omitempty"`

	diagnostic *diag.Diagnostic
}

// Text returns the finding as opgen check prints it: position, code and message, the line of the file with
// the place underlined, then related places and the hint.
func (f Finding) Text() string {
	var b strings.Builder
	diag.WriteText(&b, []*diag.Diagnostic{f.diagnostic}) // a Builder gives no errors
	return b.String()
}

// GitHub returns the finding as a workflow command of GitHub's runners, which show it beside the lines of a
// change. The file is relative to the module's root, which is the root of the repository for runners.
// Characters are escaped as GitHub documents.
func (f Finding) GitHub() string {
	message := f.Message
	if f.Hint != "" {
		message += "\nhint: " + f.Hint
	}
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := ""
	if f.File != "" {
		place = fmt.Sprintf("file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,", property.Replace(f.File), f.Line, f.Column, f.EndLine, f.EndColumn)
	}
	return fmt.Sprintf("::error %stitle=%s::%s", place, property.Replace(f.Code), text.Replace(message))
}

func findings(list *diag.List) []Finding {
	out := []Finding{}
	for _, d := range list.Sorted() {
		f := Finding{Code: string(d.Code), Rule: diag.Rules[d.Code].Title, URL: d.Code.URL(), Place: place(d.Span, d.Message), Hint: d.Hint, diagnostic: d}
		for _, r := range d.Related {
			f.Related = append(f.Related, place(r.Span, r.Message))
		}
		for _, e := range d.Edits {
			f.Edits = append(f.Edits, Edit{e.Span.File.Path, e.Span.Start, e.Span.End, e.New})
		}
		out = append(out, f)
	}
	return out
}

func place(s source.Span, message string) Place {
	p := Place{Message: message}
	if s.File != nil {
		p.File = s.File.Path
		p.Line, p.Column = s.File.Position(s.Start)
		p.EndLine, p.EndColumn = s.File.Position(s.End)
	}
	return p
}
