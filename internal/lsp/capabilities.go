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
	}
}
