# What the tests take beyond compiling. A later service (a database, a broker) adds one file like this one.
# shellcheck shell=bash

# `wait -n -p` in scripts/test.
is_bash_new() { [ "${BASH_VERSINFO[0]}" -gt 5 ] || { [ "${BASH_VERSINFO[0]}" -eq 5 ] && [ "${BASH_VERSINFO[1]}" -ge 1 ]; }; }
need "bash 5.1 or newer" "bash" is_bash_new
need "curl" "curl ca-certificates" command -v curl
need "git" "git" command -v git
need_component rustfmt "cargo fmt" cargo fmt --version
need_component clippy "cargo clippy" cargo clippy --version
want "shellcheck (without it, the scripts are only parsed)" "shellcheck" command -v shellcheck
