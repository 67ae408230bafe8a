# Sourced by the other scripts: the few things about a machine that they must not trip over.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# HOME may be unset (a bare container, a service). Tools that insist on one get the account's own, or a scratch one.
if [ -z "${HOME:-}" ]; then
    HOME=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6 || true)
    [ -n "$HOME" ] || HOME=${TMPDIR:-/tmp}/foreman-home-$(id -u)
    export HOME
fi

# rustup puts cargo here and the login shell may not have heard of it yet. Last, so that a chosen cargo wins.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

# A read-only home: cargo still needs somewhere to keep what it downloads.
if [ -z "${CARGO_HOME:-}" ] && ! { mkdir -p "$HOME/.cargo" && [ -w "$HOME/.cargo" ]; } 2>/dev/null; then
    CARGO_HOME=${TMPDIR:-/tmp}/foreman-cargo-$(id -u)
    export CARGO_HOME
    mkdir -p "$CARGO_HOME"
fi

# Where cargo puts what it builds, whoever chose it.
target_dir() {
    cargo metadata --manifest-path "$root/Cargo.toml" --no-deps --offline --format-version 1 \
        | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}

# Many sockets at once need many descriptors, and a login shell often allows 1024. Not more than is useful: some
# programs walk through all they may have.
raise_open_files() {
    local hard want=65536
    hard=$(ulimit -Hn)
    if [ "$hard" != unlimited ] && [ "$hard" -lt "$want" ]; then want=$hard; fi
    ulimit -Sn "$want" 2>/dev/null || true
    if [ "$hard" != unlimited ] && [ "$hard" -lt 4096 ]; then
        echo "note: at most $hard open files are allowed here (ulimit -Hn); tests with many connections may want more" >&2
    fi
}
