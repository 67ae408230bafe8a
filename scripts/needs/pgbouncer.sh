# What many people put in front of their Postgres. The package would start one; scripts/preflight keeps it from that.
# shellcheck shell=bash

need "PgBouncer" "pgbouncer" "${root:?set by scripts/env.sh}/scripts/services/pgbouncer" find
