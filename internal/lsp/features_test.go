package lsp

import (
	"fmt"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

const kernel = `-- kernels/scale.go --
package kernels

type Scale[T any] struct{}

func (Scale[T]) Forward(a *Arguments[T]) error { return use(a.Input, a.Factor) }
`

// TestFeatures asks each question once over the wire.
func TestFeatures(t *testing.T) {
	c := dial(t, files(t, scale+shift+kernel))
	c.open("specs/scale.toml", spec(scale))
	text := spec(scale)
	l := linesOf(text)
	at := func(part string, more int) protocol.TextDocumentPositionParams {
		t.Helper()
		if strings.Count(text, part) != 1 {
			t.Fatalf("want one place of %q", part)
		}
		return protocol.TextDocumentPositionParams{TextDocument: c.document("specs/scale.toml"), Position: l.position(strings.Index(text, part) + more)}
	}
	places := func(list []protocol.Location) string {
		var out []string
		for _, x := range list {
			out = append(out, fmt.Sprintf("%s:%d:%d", strings.TrimPrefix(string(x.URI), string(c.uri(""))), x.Range.Start.Line, x.Range.Start.Character))
		}
		return strings.Join(out, " ")
	}
	h, err := c.server.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: at("= factor *", 3)})
	if err != nil || h == nil || !strings.Contains(h.Contents.(*protocol.MarkupContent).Value, "`factor`, float = 2") || h.Range.End.Character-h.Range.Start.Character != 6 {
		t.Errorf("hover: got %v, %v", h, err)
	}
	list, err := c.server.Completion(t.Context(), &protocol.CompletionParams{TextDocumentPositionParams: at("= factor *", 5)})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, x := range list.(*protocol.CompletionList).Items {
		edit, _ := x.TextEdit.(*protocol.TextEdit)
		if detail, _ := x.Detail.Get(); x.Label == "factor" && detail == "float attribute" && edit.NewText == "factor" && edit.Range == l.span(strings.Index(text, "factor *"), strings.Index(text, " * input")) {
			found = true
		}
	}
	if !found {
		t.Errorf("completion: got %v", list)
	}
	d, err := c.server.Definition(t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: at("= factor *", 3)})
	if err != nil || places(d.(protocol.LocationSlice)) != "/specs/scale.toml:3:0" {
		t.Errorf("definition: got %v, %v", d, err)
	}
	goFile := kernel[strings.IndexByte(kernel, '\n')+1:]
	d, err = c.server.Definition(t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: protocol.TextDocumentPositionParams{
		TextDocument: c.document("kernels/scale.go"), Position: linesOf(goFile).position(strings.Index(goFile, "Factor"))}})
	if err != nil || places(d.(protocol.LocationSlice)) != "/specs/scale.toml:3:0" {
		t.Errorf("definition from a kernel: got %v, %v", d, err)
	}
	refs, err := c.server.References(t.Context(), &protocol.ReferenceParams{TextDocumentPositionParams: at("= factor *", 3)})
	if err != nil || places(refs) != "/specs/scale.toml:1:26 /kernels/scale.go:4:71" {
		t.Errorf("references: got %s, %v", places(refs), err)
	}
	p, err := c.server.PrepareRename(t.Context(), &protocol.PrepareRenameParams{TextDocumentPositionParams: at("= factor *", 3)})
	if r, ok := p.(*protocol.PrepareRenamePlaceholder); err != nil || !ok || r.Placeholder != "factor" {
		t.Errorf("prepare rename: got %v, %v", p, err)
	}
	e, err := c.server.Rename(t.Context(), &protocol.RenameParams{TextDocumentPositionParams: at("= factor *", 3), NewName: "ratio"})
	if err != nil || len(e.Changes[c.uri("specs/scale.toml")]) != 2 || len(e.Changes[c.uri("kernels/scale.go")]) != 1 {
		t.Errorf("rename: got %v, %v", e, err)
	}
	if _, err := c.server.Rename(t.Context(), &protocol.RenameParams{TextDocumentPositionParams: at("= factor *", 3), NewName: "Not One"}); err == nil || !strings.Contains(err.Error(), "lower-case") {
		t.Errorf("rename to what is no name: got %v", err)
	}
	s, err := c.server.DocumentSymbol(t.Context(), &protocol.DocumentSymbolParams{TextDocument: c.document("specs/scale.toml")})
	if o, ok := s.(protocol.DocumentSymbolSlice); err != nil || !ok || len(o) != 4 || o[3].Name != "slots" || len(o[3].Children) != 2 || o[3].Children[0].Name != "input" {
		t.Errorf("symbols: got %v, %v", s, err)
	}
	hints, err := c.server.InlayHint(t.Context(), &protocol.InlayHintParams{TextDocument: c.document("specs/scale.toml"), Range: l.span(0, len(text))})
	if err != nil || len(hints) == 0 || hints[len(hints)-1].Label != protocol.String(": T[N..., K]") || hints[len(hints)-1].Position != l.position(strings.Index(text, " = factor")) {
		t.Errorf("hints: got %v, %v", hints, err)
	}
	tokens, err := c.server.SemanticTokensFull(t.Context(), &protocol.SemanticTokensParams{TextDocument: c.document("specs/scale.toml")})
	if err != nil || len(tokens.Data) < 100 || len(tokens.Data)%5 != 0 {
		t.Fatalf("tokens: got %v, %v", tokens, err)
	}
	line, character := uint32(0), uint32(0)
	var words []string
	for i := 0; i < len(tokens.Data); i += 5 {
		x := tokens.Data[i : i+5]
		if line += x[0]; x[0] > 0 {
			character = 0
		}
		character += x[1]
		start := l.offset(protocol.Position{Line: line, Character: character})
		words = append(words, text[start:start+int(x[2])]+"/"+legend[x[3]])
	}
	want := "doc/keyword formula/keyword output/variable n/parameter k/parameter factor/property input/variable n/parameter k/parameter attrs/keyword factor/property type/keyword default/keyword"
	if got := strings.Join(words, " "); !strings.HasPrefix(got, want) {
		t.Errorf("tokens: want\n%s\ngot\n%s", want, got)
	}
}
