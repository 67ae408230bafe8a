# What compiling takes. SQLite and the client library of Kafka are compiled in, so compilers of C and C++ with their
# headers and make are among it.
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

compiles_cxx() {
    local out rc=0
    command -v c++ >/dev/null || return 1
    out=$(mktemp) || return 1
    echo '#include <string>
int main() { return std::string("").empty() ? 0 : 1; }' | c++ -x c++ - -o "$out" 2>/dev/null || rc=1
    rm -f "$out"
    return $rc
}

need "a C compiler with its headers (cc)" "gcc libc6-dev" compiles_c
need "a C++ compiler with its headers (c++)" "g++" compiles_cxx
need "make" "make" command -v make
need_cargo
