package lsp

import "go.lsp.dev/protocol"

// capabilities says what the server can do.
func capabilities() protocol.ServerCapabilities {
	yes := protocol.Boolean(true)
	incremental := protocol.TextDocumentSyncKindIncremental
	return protocol.ServerCapabilities{
		PositionEncoding:           protocol.PositionEncodingKindUTF16,
		TextDocumentSync:           &protocol.TextDocumentSyncOptions{OpenClose: new(true), Change: &incremental, Save: yes},
		CodeActionProvider:         &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
		DocumentFormattingProvider: yes,
		HoverProvider:              yes,
		CompletionProvider:         &protocol.CompletionOptions{TriggerCharacters: []string{"[", "{", "\"", "'", "."}},
		DefinitionProvider:         yes,
		ReferencesProvider:         yes,
		RenameProvider:             &protocol.RenameOptions{PrepareProvider: new(true)},
		DocumentSymbolProvider:     yes,
		InlayHintProvider:          yes,
		SemanticTokensProvider: &protocol.SemanticTokensOptions{Full: yes, Legend: protocol.SemanticTokensLegend{
			TokenTypes: legend, TokenModifiers: []string{string(protocol.SemanticTokenModifiersDeclaration)}}},
	}
}
