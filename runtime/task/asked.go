package task

import (
	"strings"

	"github.com/opgen/opgen/runtime/tensor"
)

// Asked says which gradients a call computes, of those that its task may write, and how: a character for each
// tensor, in the order of parameters, and a comma behind each parameter. The zero value asks for all of them,
// to be stored.
type Asked string

const (
	askedNone  = '-'
	askedFirst = '0' // of the modes
)

// AskedOf returns which gradients a call of the task computes. It calls each for every parameter, which must
// call its argument with each gradient: whether there is a tensor for it, and its mode.
func (s *Signature) AskedOf(each func(param int, f func(present bool, m tensor.Mode))) Asked {
	var b strings.Builder
	usual := true
	for i, p := range s.Params {
		if !p.Grad || !p.Perm.Writes() {
			continue
		}
		n := 0
		each(i, func(present bool, m tensor.Mode) {
			n++
			c := byte(askedNone)
			if present {
				c = askedFirst + byte(m)
			}
			usual = usual && c == askedFirst+byte(tensor.Store)
			b.WriteByte(c)
		})
		usual = usual && n > 0
		b.WriteByte(',')
	}
	if usual {
		return ""
	}
	return Asked(b.String())
}

// Of returns whether the call computes gradient k of a parameter, and its mode.
func (a Asked) Of(s *Signature, param, k int) (present bool, m tensor.Mode) {
	if a == "" {
		return true, tensor.Store
	}
	rest := string(a)
	for i, p := range s.Params {
		if !p.Grad || !p.Perm.Writes() {
			continue
		}
		var own string
		own, rest, _ = strings.Cut(rest, ",")
		if i == param && k < len(own) {
			return own[k] != askedNone, tensor.Mode(own[k] - askedFirst)
		}
	}
	return false, tensor.Store
}
