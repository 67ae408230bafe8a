# What compiling takes. SQLite is compiled in, so a C compiler and its headers are among it.
# shellcheck shell=bash

compiles_c() {
    local out rc=0
    command -v cc >/dev/null || return 1
    out=$(mktemp) || return 1
    echo '#include <stdio.h>
int main(void) { return puts("") < 0; }' | cc -x c - -o "$out" 2>/dev/null || rc=1
    rm -f "$out"
    return $rc
}

need "a C compiler with its headers (cc)" "gcc libc6-dev" compiles_c
need "make" "make" command -v make
need_cargo
