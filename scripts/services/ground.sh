# Sourced by the services beside it: the user they run as, where their files may lie, a port, and their end.
#
# A service's directory (the DIR of its commands) holds `place` (where its files lie), `port`, and `pid` (pid and start time
# of the running server). Nothing is ever stopped by name.
# shellcheck shell=bash
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/../env.sh"
# shellcheck source=scripts/run-dir.sh
source "$root/scripts/run-dir.sh"

# Postgres and PgBouncer refuse to run as root; for root they run as this user.
service_user() {
    if getent passwd postgres >/dev/null; then echo postgres; else echo nobody; fi
}

# as_service COMMAND... — as the user of the service, from a directory that it can stand in.
as_service() {
    if [ "$(id -u)" -ne 0 ]; then
        (cd / && "$@")
    else
        local user
        user=$(service_user)
        (cd / && HOME=/ setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@")
    fi
}

# Makes DIR, and in it or else somewhere that the service's user can reach, a place that this user owns. For root, a
# directory below a private one (a home, a test's own temporary directory) is out of reach; `elsewhere` in the run's
# directory then says what to remove with it.
make_place() {
    local dir=$1 parent place=""
    mkdir -p "$dir"
    for parent in "$dir" "${FOREMAN_TEST_DIR:-$dir}" /tmp /var/tmp; do
        place=$(mktemp -d "$parent/foreman-service.XXXXXX" 2>/dev/null) || continue
        [ "$(id -u)" -ne 0 ] || chown "$(service_user)" "$place"
        if as_service test -w "$place" 2>/dev/null; then break; fi
        rm -rf "$place" && place=""
    done
    [ -n "$place" ] || { echo "no directory that the user $(service_user) can write to" >&2; return 1; }
    echo "$place" >"$dir/place"
    if [ -n "${FOREMAN_TEST_DIR:-}" ]; then echo "$place" >>"$FOREMAN_TEST_DIR/elsewhere"; fi
    echo "$place"
}

# A loopback port that nobody listens on, below those that the system hands out: a server that is stopped and started again
# finds its own still free.
free_port() {
    local low port tries=100
    low=$(awk '{ print $1 }' /proc/sys/net/ipv4/ip_local_port_range 2>/dev/null || true)
    [ "${low:-0}" -gt 11000 ] || low=32768
    while [ $tries -gt 0 ]; do
        port=$((10000 + (RANDOM * 32768 + RANDOM) % (low - 10000)))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
        tries=$((tries - 1))
    done
    echo "no free port on the loopback address" >&2
    return 1
}

# A word that nobody guesses. Other users of this machine can reach the port too.
secret() { od -An -tx1 -N16 /dev/urandom | tr -d ' \n'; }

remember() { echo "$2 $(born "$2")" >"$1/pid"; }

# The pid of the service of DIR, if it runs: the pid that was noted, and still the same process.
running() {
    local pid birth
    [ -f "$1/pid" ] && read -r pid birth <"$1/pid" && [ -n "$birth" ] && [ "$(born "$pid")" = "$birth" ] && echo "$pid"
}

# end DIR SECONDS SIGNAL... — sends the signals one after another until the service is gone, waiting so long after each.
end() {
    local dir=$1 seconds=$2 signal pid tries
    shift 2
    for signal in "$@"; do
        pid=$(running "$dir") || break
        kill "-$signal" "$pid" 2>/dev/null || true
        tries=$((seconds * 20))
        while [ $tries -gt 0 ] && running "$dir" >/dev/null; do
            sleep 0.05
            tries=$((tries - 1))
        done
    done
    if running "$dir" >/dev/null; then
        echo "could not stop $(running "$dir")" >&2
        return 1
    fi
    rm -f "$dir/pid"
}

# The end of the service, and of its files.
remove() {
    local place
    end "$1" 5 QUIT KILL
    if [ -f "$1/place" ]; then
        read -r place <"$1/place"
        case $place in */foreman-service.*) rm -rf "$place" ;; esac
    fi
    rm -rf "$1"
}
