# The database of the tests. The package would make and start a cluster of its own; scripts/preflight keeps it from that.
# shellcheck shell=bash

need "a Postgres server, 14 or newer (postgres, initdb, pg_ctl, psql)" "postgresql" \
    "${root:?set by scripts/env.sh}/scripts/services/postgres" find
