# The suites of `make test`, in order. Sourced by scripts/test.
#
#   suite NAME BUDGET_SECS LIMIT_SECS COMMAND...
#
# The budget is what it should take on two cores, compiling apart; the summary marks what took longer. At the limit the
# suite is stopped: something hangs. `tests PACKAGE [TARGET...]` runs the test programs of a package that `build` made, and
# `with_services` gives what follows it a Postgres and a PgBouncer of its own. `dashboard` is what needs no server, `browser` the
# real binary in a real browser.
# shellcheck shell=bash

suite fmt 20 300 cargo fmt --all --check
suite scripts 20 120 scripts/check-scripts
suite runner 45 300 scripts/check-test-runner
suite services 60 300 scripts/check-services
suite advisories 30 900 scripts/check-advisories
suite dashboard 150 900 dashboard
suite build 600 5400 build
suite clippy 300 3600 cargo clippy --workspace --all-targets --locked -- -D warnings
suite architecture 20 300 tests foreman architecture
suite generated 20 300 generated
suite docs 20 300 tests foreman docs
suite runtime 20 300 tests foreman-runtime
suite protocol 20 300 tests foreman-protocol
suite core 30 300 tests foreman-core
suite conformance 60 600 tests foreman-conformance
suite sqlite 120 900 tests foreman-sqlite
suite postgres 240 1800 with_services tests foreman-postgres
suite engine 120 900 tests foreman-engine
suite api 60 600 tests foreman-api
suite client 60 600 tests foreman-client
suite signatures 30 300 scripts/check-webhook-signatures
suite fuzz 180 600 scripts/check-api
suite deploy 20 300 tests foreman deploy
suite foreman 600 3600 with_services tests foreman foreman it
suite team 240 1800 with_services tests foreman team
suite release 600 5400 release
suite browser 300 1800 browser
suite previous 420 3600 with_services scripts/check-previous-version
suite doctests 120 1200 cargo test --workspace --doc --locked
suite bench 180 900 with_services program foreman-bench --smoke
