# Sourced: all services that tests may need, started and stopped together. Each is one file in scripts/services.
# shellcheck shell=bash

# start_services DIR [NAME=VALUE...] — starts them below DIR and exports what tests read. NAME=VALUE are settings of Postgres.
start_services() {
    local dir=$1 said
    shift
    mkdir -p "$dir"
    chmod 711 "$dir"
    said=$("${root:?set by scripts/env.sh}/scripts/services/postgres" start "$dir/postgres" "$@") && eval "$said" || return 1
    said=$("$root/scripts/services/pgbouncer" start "$dir/pgbouncer") && eval "$said" || return 1
}

# Nothing of theirs is needed any more, so they are ended rather than closed.
stop_services() {
    local service
    for service in pgbouncer postgres; do
        [ ! -d "$1/$service" ] || "${root:?set by scripts/env.sh}/scripts/services/$service" remove "$1/$service" || true
    done
}
