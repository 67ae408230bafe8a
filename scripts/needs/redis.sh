# What a fleet shares its news through. The package would start one; scripts/preflight keeps it from that.
# shellcheck shell=bash

need "a Redis server, 7.0 or newer" "redis-server" "${root:?set by scripts/env.sh}/scripts/services/redis" find
