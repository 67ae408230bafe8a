# Sourced: the Chromium of the browser tests. It is the system's: no test tool downloads one.
# shellcheck shell=bash

# Prints where it is. CHROMIUM= overrides the path, and then no other is looked for.
find_chromium() {
    local name
    if [ -n "${CHROMIUM:-}" ]; then
        command -v "$CHROMIUM" || { echo "CHROMIUM=$CHROMIUM is no program" >&2; return 1; }
        return
    fi
    for name in chromium chromium-browser google-chrome-stable google-chrome \
        "/Applications/Chromium.app/Contents/MacOS/Chromium" "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        # A name alone proves nothing: a distribution may put a script there that only says where to get it.
        if command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1; then command -v "$name"; return; fi
    done
    echo "Chromium is not installed (CHROMIUM= names one elsewhere)" >&2
    return 1
}

has_fonts() {
    [ "$(uname -s)" != Darwin ] || return 0
    [ -n "$(fc-list : family 2>/dev/null | head -n1)" ]
}
