#!/bin/sh
# Compiles device code for the emulator: compile.sh SOURCE LIBRARY. It stands in for nvcc as OPGEN_CUDA_COMPILER.
# Tests compile thousands of sources, so it starts few processes, and links no library of C++.
set -eu
here=${0%/*}
cxx=${CXX:-g++}
# Names that macros make are found after preprocessing only.
expanded() {
	if grep -q '##' "$1"; then "$cxx" -E -P -x c++ -DOPGEN_EMULATOR=1 "$1"; else cat "$1"; fi
}
whole=$2.cc
{
	cat "$1"
	expanded "$1" | LC_ALL=C awk '
		{ text = text $0 " " }
		END {
			n = split(text, kernels, /__global__/)
			for (i = 2; i <= n; i++) {
				gsub(/__launch_bounds__ *\([^()]*\)/, "", kernels[i])
				if (!sub(/ *\(.*/, "", kernels[i])) continue
				sub(/.*[ *]/, "", kernels[i])
				print "CUEMU_KERNEL(" kernels[i] ")"
			}
		}'
} >"$whole"
# shellcheck disable=SC2046
"$cxx" $(cat "$here/flags") -pipe -c -include "$here/cuemu.h" "$whole" -o "$2.o"
"$cxx" -shared -nostdlib "$2.o" -lm -lgcc -o "$2" && rm "$whole" "$2.o"
