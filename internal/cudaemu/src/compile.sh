#!/bin/sh
# Compiles device code for the emulator: compile.sh SOURCE LIBRARY. It stands in for nvcc as OPGEN_CUDA_COMPILER.
set -eu
here=$(dirname "$0")
cxx=${CXX:-g++}
# Names that macros make are found after preprocessing only.
expanded() {
	if grep -q '##' "$1"; then "$cxx" -E -P -x c++ -DOPGEN_EMULATOR=1 "$1"; else cat "$1"; fi
}
kernels=$(expanded "$1" | tr '\n' ' ' | sed 's/__launch_bounds__ *([^()]*)//g' | grep -o '__global__[^(]*(' | sed 's/ *($//; s/.*[ *]//')
whole=$2.cc
{
	cat "$1"
	for k in $kernels; do echo "CUEMU_KERNEL($k)"; done
} >"$whole"
# shellcheck disable=SC2046
"$cxx" $(cat "$here/flags") -shared -include "$here/cuemu.h" "$whole" -o "$2" && rm "$whole"
