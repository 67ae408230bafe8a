# What the tests take beyond compiling. A later service (a database, a broker) adds one file like this one.
# shellcheck shell=bash

need "curl" "curl ca-certificates" command -v curl
need "git" "git" command -v git
need_component rustfmt "cargo fmt" cargo fmt --version
need_component clippy "cargo clippy" cargo clippy --version
want "shellcheck (without it, the scripts are only parsed)" "shellcheck" command -v shellcheck
