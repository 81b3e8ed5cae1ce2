package jit

// has reports whether there are loops for vectors of 128 bits, which all processors have; none has wide ones.
func has(wide bool) bool { return !wide }

// prefetch asks for memory 32768 bytes behind the current element of the first pointer.
var prefetch = []byte{
	0x91, 0x00, 0x02, 0x8b, // add x17, x4, x2
	0x31, 0x22, 0x40, 0x91, // add x17, x17, #8, lsl #12
	0x31, 0x02, 0x00, 0x91, // add x17, x17, #0
	0x22, 0x02, 0x80, 0xf9, // prfm pldl2keep, [x17]
}
