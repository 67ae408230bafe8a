# Sourced: all services that tests may need, started and stopped together. Each is one file in scripts/services.
# shellcheck shell=bash

# What a suite starts beside Postgres and PgBouncer when it asks for it, as --NAME.
extra_services=(redis)

# start_services DIR [--NAME...] [NAME=VALUE...] — starts them below DIR and exports what tests read. NAME=VALUE are settings of
# Postgres.
start_services() {
    local dir=$1 said argument settings=() extra=()
    shift
    for argument in "$@"; do
        case $argument in --*) extra+=("${argument#--}") ;; *) settings+=("$argument") ;; esac
    done
    mkdir -p "$dir"
    chmod 711 "$dir"
    said=$("${root:?set by scripts/env.sh}/scripts/services/postgres" start "$dir/postgres" ${settings[@]+"${settings[@]}"}) && eval "$said" || return 1
    said=$("$root/scripts/services/pgbouncer" start "$dir/pgbouncer") && eval "$said" || return 1
    for argument in ${extra[@]+"${extra[@]}"}; do
        said=$("$root/scripts/services/$argument" start "$dir/$argument") && eval "$said" || return 1
    done
}

# Whether --NAME asks for one of those.
is_extra_service() {
    local service
    for service in "${extra_services[@]}"; do [ "$1" != "--$service" ] || return 0; done
    return 1
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
    for service in "${extra_services[@]}" pgbouncer postgres; do
        [ ! -d "$1/$service" ] || "${root:?set by scripts/env.sh}/scripts/services/$service" remove "$1/$service" || true
    done
}
