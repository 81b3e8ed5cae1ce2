package lsp

import (
	"context"
	"errors"
	"slices"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	spans "github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/workspace"
)

// look is how names of a kind look in editors.
type look struct {
	token  protocol.SemanticTokenTypes
	item   protocol.CompletionItemKind
	symbol protocol.SymbolKind
}

// looks says how names look, by kind.
var looks = [...]look{
	workspace.Key:          {protocol.SemanticTokenTypesKeyword, protocol.CompletionItemKindKeyword, protocol.SymbolKindKey},
	workspace.Slot:         {protocol.SemanticTokenTypesVariable, protocol.CompletionItemKindVariable, protocol.SymbolKindVariable},
	workspace.Attribute:    {protocol.SemanticTokenTypesProperty, protocol.CompletionItemKindProperty, protocol.SymbolKindProperty},
	workspace.Argument:     {protocol.SemanticTokenTypesParameter, protocol.CompletionItemKindReference, protocol.SymbolKindVariable},
	workspace.Dimension:    {protocol.SemanticTokenTypesTypeParameter, protocol.CompletionItemKindConstant, protocol.SymbolKindConstant},
	workspace.TypeVariable: {protocol.SemanticTokenTypesType, protocol.CompletionItemKindTypeParameter, protocol.SymbolKindTypeParameter},
	workspace.ElementType:  {protocol.SemanticTokenTypesType, protocol.CompletionItemKindStruct, protocol.SymbolKindStruct},
	workspace.Value:        {protocol.SemanticTokenTypesVariable, protocol.CompletionItemKindVariable, protocol.SymbolKindVariable},
	workspace.Function:     {protocol.SemanticTokenTypesFunction, protocol.CompletionItemKindFunction, protocol.SymbolKindFunction},
	workspace.Index:        {protocol.SemanticTokenTypesParameter, protocol.CompletionItemKindVariable, protocol.SymbolKindVariable},
	workspace.Builtin:      {protocol.SemanticTokenTypesMacro, protocol.CompletionItemKindFunction, protocol.SymbolKindFunction},
	workspace.Spec:         {protocol.SemanticTokenTypesClass, protocol.CompletionItemKindClass, protocol.SymbolKindClass},
	workspace.EnumValue:    {protocol.SemanticTokenTypesEnumMember, protocol.CompletionItemKindEnumMember, protocol.SymbolKindEnumMember},
	workspace.Declaration:  {protocol.SemanticTokenTypesLabel, protocol.CompletionItemKindValue, protocol.SymbolKindObject},
}

// legend lists the types of tokens, each once.
var legend = func() []string {
	var out []string
	for _, l := range looks {
		if !slices.Contains(out, string(l.token)) {
			out = append(out, string(l.token))
		}
	}
	return out
}()

func (s *server) Hover(ctx context.Context, p *protocol.HoverParams) (*protocol.Hover, error) {
	return ask(ctx, s, p.TextDocument.URI, func(ctx context.Context, q *query) (*protocol.Hover, error) {
		h, err := q.Hover(ctx, q.path, q.lines(q.path).offset(p.Position))
		if h == nil || err != nil {
			return nil, err
		}
		at := q.span(h.Span)
		return &protocol.Hover{Contents: markdown(h.Text), Range: &at}, nil
	})
}

func markdown(text string) *protocol.MarkupContent {
	return &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}
}

func (s *server) Completion(ctx context.Context, p *protocol.CompletionParams) (protocol.CompletionResult, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (protocol.CompletionResult, error) {
		found, at := q.Complete(q.path, q.lines(q.path).offset(p.Position))
		out := &protocol.CompletionList{Items: []protocol.CompletionItem{}}
		for _, c := range found {
			x := protocol.CompletionItem{Label: c.Label, Kind: looks[c.Kind].item, TextEdit: &protocol.TextEdit{Range: q.span(at), NewText: c.Insert}}
			if c.Detail != "" {
				x.Detail = protocol.NewOptional(c.Detail)
			}
			if c.Doc != "" {
				x.Documentation = markdown(c.Doc)
			}
			out.Items = append(out.Items, x)
		}
		return out, nil
	})
}

// locations returns places as the protocol has them.
func (q *query) locations(places []spans.Span) []protocol.Location {
	out := []protocol.Location{}
	for _, p := range places {
		out = append(out, protocol.Location{URI: q.uri(p.File.Path), Range: q.span(p)})
	}
	return out
}

func (s *server) Definition(ctx context.Context, p *protocol.DefinitionParams) (protocol.DefinitionResult, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (protocol.DefinitionResult, error) {
		if text, ok := q.Kernel(q.path); ok {
			return protocol.LocationSlice(q.locations(q.FromKernel(q.path, linesOf(text).offset(p.Position)))), nil
		}
		return protocol.LocationSlice(q.locations(q.Definition(q.path, q.lines(q.path).offset(p.Position)))), nil
	})
}

func (s *server) References(ctx context.Context, p *protocol.ReferenceParams) ([]protocol.Location, error) {
	return ask(ctx, s, p.TextDocument.URI, func(ctx context.Context, q *query) ([]protocol.Location, error) {
		found, err := q.References(ctx, q.path, q.lines(q.path).offset(p.Position), p.Context.IncludeDeclaration)
		return q.locations(found), err
	})
}

func (s *server) PrepareRename(ctx context.Context, p *protocol.PrepareRenameParams) (protocol.PrepareRenameResult, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (protocol.PrepareRenameResult, error) {
		n := q.Renamable(q.path, q.lines(q.path).offset(p.Position))
		if n == nil {
			return nil, nil
		}
		return &protocol.PrepareRenamePlaceholder{Range: q.span(n.Span), Placeholder: n.Text}, nil
	})
}

func (s *server) Rename(ctx context.Context, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (*protocol.WorkspaceEdit, error) {
		edits, err := q.Rename(q.path, q.lines(q.path).offset(p.Position), p.NewName)
		if err != nil {
			return nil, &invalid{err}
		}
		return q.edit(edits), nil
	})
}

// invalid is an error in what a client asks for.
type invalid struct{ error }

// answer returns an error as one of the protocol.
func answer(err error) error {
	if x := (*invalid)(nil); errors.As(err, &x) {
		return jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
	}
	return jsonrpc2.NewError(jsonrpc2.InternalError, err.Error())
}

func (s *server) DocumentSymbol(ctx context.Context, p *protocol.DocumentSymbolParams) (protocol.DocumentSymbolResult, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (protocol.DocumentSymbolResult, error) {
		return protocol.DocumentSymbolSlice(q.symbols(q.Outline(q.path))), nil
	})
}

func (q *query) symbols(list []workspace.Symbol) []protocol.DocumentSymbol {
	out := []protocol.DocumentSymbol{}
	for _, x := range list {
		d := protocol.DocumentSymbol{Name: x.Name, Kind: looks[x.Kind].symbol, Range: q.span(x.Span), SelectionRange: q.span(x.Select)}
		if x.Detail != "" {
			d.Detail = new(x.Detail)
		}
		if len(x.Below) > 0 {
			d.Children = q.symbols(x.Below)
		}
		out = append(out, d)
	}
	return out
}

func (s *server) InlayHint(ctx context.Context, p *protocol.InlayHintParams) ([]protocol.InlayHint, error) {
	return ask(ctx, s, p.TextDocument.URI, func(ctx context.Context, q *query) ([]protocol.InlayHint, error) {
		found, err := q.Hints(ctx, q.path)
		l := q.lines(q.path)
		start, end := l.offset(p.Range.Start), l.offset(p.Range.End)
		out := []protocol.InlayHint{}
		for _, h := range found {
			if h.At.End < start || h.At.End > end {
				continue
			}
			x := protocol.InlayHint{Position: l.position(h.At.End), Label: protocol.String(h.Text), Kind: protocol.InlayHintKindType}
			if h.Tip != "" {
				x.Tooltip = markdown(h.Tip)
			}
			out = append(out, x)
		}
		return out, err
	})
}

func (s *server) SemanticTokensFull(ctx context.Context, p *protocol.SemanticTokensParams) (*protocol.SemanticTokens, error) {
	return ask(ctx, s, p.TextDocument.URI, func(_ context.Context, q *query) (*protocol.SemanticTokens, error) {
		out := &protocol.SemanticTokens{Data: []uint32{}}
		var last protocol.Position
		for _, t := range q.Tokens(q.path) {
			at := q.span(t.Span)
			if at.Start.Line != last.Line {
				last = protocol.Position{Line: last.Line}
			}
			modifiers := uint32(0)
			if t.Declares {
				modifiers = 1
			}
			out.Data = append(out.Data, at.Start.Line-last.Line, at.Start.Character-last.Character, at.End.Character-at.Start.Character,
				uint32(slices.Index(legend, string(looks[t.Kind].token))), modifiers)
			last = at.Start
		}
		return out, nil
	})
}
