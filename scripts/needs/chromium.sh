# The browser of the tests and of the screenshots, and letters for it to write with.
# shellcheck shell=bash
# shellcheck source=scripts/browser.sh
source "${root:?set by scripts/env.sh}/scripts/browser.sh"

need "Chromium (or CHROMIUM=PATH to one)" "chromium" find_chromium
need "fonts" "fontconfig fonts-dejavu-core fonts-liberation" has_fonts
