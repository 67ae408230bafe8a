# Sourced: which Node the dashboard can be built with. What it is built from (Vite) names these versions.
# shellcheck shell=bash

node_wanted() { echo "Node 20.19+ or 22.12+, with npm"; }

# suits VERSION — whether a version, as 20.19.0 or with a distribution's letters behind it, will do.
node_suits() {
    local major minor
    IFS=. read -r major minor _ <<<"${1#v}"
    major=${major##*:} minor=${minor%%[!0-9]*}
    case $major in
        '' | *[!0-9]*) return 1 ;;
        20) [ "${minor:-0}" -ge 19 ] ;;
        22) [ "${minor:-0}" -ge 12 ] ;;
        *) [ "$major" -ge 23 ] ;;
    esac
}

# The version of the Node that is there, or nothing.
node_found() { node --version 2>/dev/null || true; }

has_node() { node_suits "$(node_found)" && command -v npm >/dev/null; }

# What is wrong, in a few words for a person.
node_trouble() {
    local found
    found=$(node_found)
    if [ -z "$found" ]; then
        echo "there is no Node here"
    elif ! node_suits "$found"; then
        echo "the Node here is ${found#v}"
    else
        echo "there is a Node here but no npm"
    fi
}
