# What a first job takes once the server is up.
# shellcheck shell=bash

want "curl, to try the server" "curl" command -v curl
# The dashboard is built when it is there and Node is too; the server runs without.
if [ -d "${root:?set by scripts/env.sh}/dashboard" ]; then
    want "Node 20 or newer with npm, to build the dashboard (the server runs without it)" "nodejs npm" command -v npm
fi
