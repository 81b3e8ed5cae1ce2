//go:build cuda

// Each function of the driver API jumps to the address in its slot, which forward.c fills when the process starts.

#if defined(__x86_64__)
#define JUMP(s) movq opgen_slot_##s(%rip), %r11; jmp *%r11
#elif defined(__aarch64__)
#define JUMP(s) adrp x16, opgen_slot_##s; ldr x16, [x16, :lo12:opgen_slot_##s]; br x16
#else
#error "the driver API is there for x86-64 and aarch64"
#endif

#define X(s) \
	.text; .balign 16; .globl s; .hidden s; .type s, %function; s: JUMP(s); .size s, .-s; \
	.data; .balign 8; .globl opgen_slot_##s; .hidden opgen_slot_##s; opgen_slot_##s: .quad opgen_missing;

#include "symbols.h"

	.section .note.GNU-stack,"",%progbits
