package lsp

import (
	"context"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/opgen/opgen/internal/diag"
	spans "github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/workspace"
)

// source is what editors show beside a finding.
var source = protocol.NewOptional("opgen")

// diagnostics returns findings in a file as the protocol has them.
func (q *query) diagnostics(found []*diag.Diagnostic) []protocol.Diagnostic {
	out := []protocol.Diagnostic{}
	for _, d := range found {
		out = append(out, q.diagnostic(d))
	}
	return out
}

func (q *query) diagnostic(d *diag.Diagnostic) protocol.Diagnostic {
	message := d.Message
	if d.Hint != "" {
		message += "\nhint: " + d.Hint
	}
	out := protocol.Diagnostic{Range: q.span(d.Span), Severity: protocol.DiagnosticSeverityError, Source: source, Message: protocol.String(message),
		Code: protocol.String(string(d.Code)), CodeDescription: protocol.CodeDescription{Href: uri.URI(d.Code.URL())}}
	if d.Code == diag.Unused || d.Code == diag.LeftOver {
		out.Tags = protocol.NewDiagnosticTags(protocol.DiagnosticTagUnnecessary)
	}
	for _, r := range d.Related {
		if r.Span.File != nil {
			out.RelatedInformation = append(out.RelatedInformation, protocol.DiagnosticRelatedInformation{
				Location: protocol.Location{URI: q.uri(r.Span.File.Path), Range: q.span(r.Span)}, Message: r.Message})
		}
	}
	return out
}

// span returns the range of a span. The text is that of its file, which need not be one of the module.
func (q *query) span(s spans.Span) protocol.Range {
	if s.File == nil {
		return protocol.Range{}
	}
	l := q.mapped[s.File.Path]
	if l == nil || l.text != s.File.Text {
		l = linesOf(s.File.Text)
		q.mapped[s.File.Path] = l
	}
	return l.span(s.Start, s.End)
}

func (s *server) CodeAction(ctx context.Context, p *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	return ask(ctx, s, p.TextDocument.URI, func(ctx context.Context, q *query) ([]protocol.CommandOrCodeAction, error) {
		if only := p.Context.Only; len(only) > 0 && !slices.ContainsFunc(only, func(k protocol.CodeActionKind) bool {
			return k == "" || k == protocol.CodeActionKindQuickFix || strings.HasPrefix(string(protocol.CodeActionKindQuickFix), string(k)+".")
		}) {
			return nil, nil
		}
		found, err := q.Findings(ctx, q.path)
		l := q.lines(q.path)
		start, end := l.offset(p.Range.Start), l.offset(p.Range.End)
		var out []protocol.CommandOrCodeAction
		for _, f := range workspace.Fixes(found, start, end) {
			kind := protocol.CodeActionKindQuickFix
			a := &protocol.CodeAction{Title: f.Title, Kind: &kind, Edit: q.edit(f.Edits)}
			for _, d := range f.Of {
				a.Diagnostics = append(a.Diagnostics, q.diagnostic(d))
			}
			if len(f.Of) == 1 {
				a.IsPreferred = new(true)
			}
			out = append(out, a)
		}
		return out, err
	})
}

// edit returns edits of files as the protocol has them.
func (q *query) edit(edits []diag.Edit) *protocol.WorkspaceEdit {
	e := &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{}}
	for _, x := range edits {
		u := q.uri(x.Span.File.Path)
		e.Changes[u] = append(e.Changes[u], protocol.TextEdit{Range: q.span(x.Span), NewText: x.New})
	}
	return e
}

func (s *server) Formatting(ctx context.Context, p *protocol.DocumentFormattingParams) ([]protocol.TextEdit, error) {
	return ask(ctx, s, p.TextDocument.URI, func(ctx context.Context, q *query) ([]protocol.TextEdit, error) {
		var out []protocol.TextEdit
		for _, e := range q.Format(q.path) {
			out = append(out, protocol.TextEdit{Range: q.span(e.Span), NewText: e.New})
		}
		return out, nil
	})
}
