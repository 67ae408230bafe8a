# What sends the API its hardest requests (scripts/check-api) comes from the Python package index.
# shellcheck shell=bash

need "Python 3.10 or newer, with venv" "python3 python3-venv" \
    python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
