# Sourced: all services that tests may need, started and stopped together. Each is one file in scripts/services.
# shellcheck shell=bash

# read_service_flags ARGUMENT... — the flags before a command. Sets `settings` (of Postgres), `more_services` (besides Postgres and
# PgBouncer, which every suite with services has) and `flags`, how many there were.
read_service_flags() {
    settings=() more_services="" flags=0
    while :; do
        case ${1:-} in
            --fsync) mapfile -t settings < <(measuring_settings) ;;
            --kafka | --redis) more_services="$more_services ${1#--}" ;;
            *) return 0 ;;
        esac
        shift
        flags=$((flags + 1))
    done
}

# start_services DIR SERVICES [NAME=VALUE...] — starts Postgres, PgBouncer and the further services below DIR and exports what tests
# read. NAME=VALUE are settings of Postgres.
start_services() {
    local dir=$1 more=$2 said service
    shift 2
    mkdir -p "$dir"
    chmod 711 "$dir"
    said=$("${root:?set by scripts/env.sh}/scripts/services/postgres" start "$dir/postgres" ${settings[@]+"${settings[@]}"}) && eval "$said" || return 1
    said=$("$root/scripts/services/pgbouncer" start "$dir/pgbouncer") && eval "$said" || return 1
    for service in $more; do
        said=$("$root/scripts/services/$service" start "$dir/$service") && eval "$said" || return 1
    done
}

# The settings of a Postgres to measure on: it syncs its files, and can count statements in a database that asks for it.
measuring_settings() {
    local bin
    echo fsync=on
    bin=$("${root:?set by scripts/env.sh}/scripts/services/postgres" find) || return 0
    if [ -e "$bin/../lib/pg_stat_statements.so" ]; then
        echo shared_preload_libraries=pg_stat_statements
        echo pg_stat_statements.track=none
    fi
}

# Nothing of theirs is needed any more, so they are ended rather than closed.
stop_services() {
    local service
    for service in kafka redis pgbouncer postgres; do
        [ ! -d "$1/$service" ] || "${root:?set by scripts/env.sh}/scripts/services/$service" remove "$1/$service" || true
    done
}
