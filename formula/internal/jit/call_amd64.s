#include "textflag.h"

// func call(entry uintptr, arguments *uint64)
// The code takes the arguments in DI, keeps SP, BP and R14, and returns to the caller of this function.
TEXT ·call(SB), NOSPLIT, $0-16
	MOVQ entry+0(FP), AX
	MOVQ arguments+8(FP), DI
	JMP  AX
