package formula

import "slices"

// byHand runs the hand-written gradients of the formula and stores the results in m.grads.
func (m *memory) byHand(g *gradientCode) error {
	p := m.program
	for of, id := range p.Grads {
		to := m.tensors[id].real
		clear(to)
		copy(to, m.grads[of])
	}
	err := m.each(g.depth, g.hand)
	for _, of := range p.ByHand() {
		m.grads[of] = slices.Clone(m.tensors[p.Grads[of]].real)
	}
	return err
}
