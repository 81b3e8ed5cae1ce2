#include "textflag.h"

// func call(entry uintptr, arguments *uint64)
// The code takes the arguments in R0, keeps RSP, R18 and those from R27 on, and returns to the caller of this function.
TEXT ·call(SB), NOSPLIT|NOFRAME, $0-16
	MOVD entry+0(FP), R2
	MOVD arguments+8(FP), R0
	JMP  (R2)

// func synchronize(written, executed *byte, bytes uintptr)
// It does what the architecture asks for before code is executed that was written as data: the caches of data are written to where those of
// instructions read, and what the latter hold is dropped. Both are done by 16 bytes, which no line of a cache is smaller than.
TEXT ·synchronize(SB), NOSPLIT|NOFRAME, $0-24
	MOVD written+0(FP), R0
	MOVD executed+8(FP), R1
	MOVD bytes+16(FP), R2
	MOVD R2, R3

clean:
	WORD $0xd50b7b20 // dc cvau, x0
	ADD  $16, R0
	SUBS $16, R2
	BHI  clean
	WORD $0xd5033b9f // dsb ish

drop:
	WORD $0xd50b7521 // ic ivau, x1
	ADD  $16, R1
	SUBS $16, R3
	BHI  drop
	WORD $0xd5033b9f // dsb ish
	WORD $0xd5033fdf // isb
	RET
