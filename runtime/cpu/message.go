package cpu

import (
	"fmt"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/ranks"
)

// message sends or receives a tensor. A worker waits until a tensor has come, and not for one that it sends.
type message struct {
	*ranks.Message
	data []byte
	send bool
}

// bindMessage returns the body of a message.
func (b *Backend) bindMessage(t *engine.Builtin) (engine.Launchable, error) {
	if b.ranks == nil {
		return nil, fmt.Errorf("want a session of several ranks for a message, got one by itself")
	}
	if t.Peer < 0 || t.Peer >= b.ranks.Ranks() || t.Peer == b.ranks.Rank() {
		return nil, fmt.Errorf("want another rank from 0 to %d, got %d", b.ranks.Ranks()-1, t.Peer)
	}
	data := host(t.Tensors[0].Region)
	return launchable{&message{b.ranks.Message(t.Peer, t.Message, len(data)), data, t.Op == "send"}, false}, nil
}

func (m *message) Run(ctx *op.Ctx, _ op.Range) error {
	if m.send {
		return m.Send(ctx.Step, m.data)
	}
	return m.Receive(ctx.Step, m.data)
}
