# What a first job takes once the server is up. Without Node the server runs too, and scripts/dashboard says so.
# shellcheck shell=bash

want "curl, to try the server" "curl" command -v curl
