# The suites of `make test`, in order. Sourced by scripts/test.
#
#   suite NAME BUDGET_SECS LIMIT_SECS COMMAND...
#
# The budget is what it should take on two cores, compiling apart; the summary marks what took longer. At the limit the
# suite is stopped: something hangs. `tests PACKAGE [TARGET...]` runs the test programs of a package that `build` made,
# and `with_services` gives what follows it a Postgres and a PgBouncer of its own, a broker with `--kafka` and a Redis with
# `--redis`. `dashboard` is what needs no server, `browser` the real binary in a real browser. Between `side_by_side` and
# `one_by_one` each begins as soon as one before it
# has ended, so the long ones come first: most of them wait more than they compute, and each brings the services it needs.
# shellcheck shell=bash

suite fmt 20 300 cargo fmt --all --check
suite scripts 20 120 scripts/check-scripts
suite build 600 5400 build
side_by_side
suite release 600 5400 release
suite foreman 400 3600 with_services processes
suite team 300 1800 with_services tests foreman team
suite fleet-redis 60 900 with_services --redis tests foreman redis
suite postgres 400 1800 with_services tests foreman-postgres
suite kafka 90 600 with_services --kafka threads 6 tests foreman-kafka
suite fleet 300 1200 with_services --kafka --redis fleet_size
suite browser 300 1800 browser
suite clippy 300 3600 cargo clippy --workspace --all-targets --locked -- -D warnings
suite previous 420 3600 with_services scripts/check-previous-version
suite fuzz 180 600 scripts/check-api
suite dashboard 150 900 dashboard
suite eventlog 75 900 with_services tests foreman-eventlog
suite sqlite 200 900 tests foreman-sqlite
suite engine 150 900 tests foreman-engine
suite api 100 600 tests foreman-api
suite doctests 120 1200 cargo test --workspace --doc --locked
suite core 60 600 tests foreman-core
suite conformance 100 600 tests foreman-conformance
suite protocol 20 300 tests foreman-protocol
suite services 120 400 scripts/check-services
suite redis 60 600 with_services --redis tests foreman-redis
suite client 60 600 tests foreman-client
suite runner 60 300 scripts/check-test-runner
suite signatures 30 300 scripts/check-webhook-signatures
suite advisories 30 900 scripts/check-advisories
suite docs 20 300 tests foreman docs
suite architecture 30 300 tests foreman architecture
suite deploy 20 300 tests foreman deploy
suite generated 30 300 generated
suite runtime 20 300 tests foreman-runtime
one_by_one
suite bench 270 1200 with_services --fsync --kafka benchmark
