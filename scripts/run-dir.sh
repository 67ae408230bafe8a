# Sourced: a directory of our own for one run, and the end of everything that a run started.
#
# Two runs at once do not meet. Each has a directory `foreman-test.XXXXXX` with its owner's pid and start time in it, and what
# it starts carries that directory in its environment. A run that was killed leaves both behind; the next run finds
# them by that name, and by nothing else: a process or a cluster of somebody else is never touched.
# shellcheck shell=bash

scratch=${TMPDIR:-/tmp}

# When a process started, in ticks since boot: pids come again, this does not. Nothing for one that is dead and not yet buried.
born() { awk '{ sub(/.*\) /, ""); if ($1 != "Z") print $20 }' "/proc/$1/stat" 2>/dev/null; }

# Ends every process that a run or one of its suites started, however it was re-parented: they all carry its directory in their
# environment.
stop_all_of() {
    local dir=$1 signal=$2 file pid suite names=()
    for suite in "$dir" "$dir"/of/*; do names+=(-e "FOREMAN_TEST_DIR=$suite"); done
    while IFS= read -r file; do
        pid=${file#/proc/} pid=${pid%/environ}
        [ "$pid" = $$ ] || kill "-$signal" "$pid" 2>/dev/null || true
    done < <(grep -lzxF "${names[@]}" /proc/[0-9]*/environ 2>/dev/null || true)
}

# Removes a run's directory, and what its services had to put elsewhere (scripts/services/ground.sh says when). Its owner's name
# goes last: while that stands there, a next run finds the directory and tries again.
remove_run_dir() {
    local dir=$1 place
    if [ -f "$dir/elsewhere" ]; then
        while IFS= read -r place; do
            case $place in */foreman-service.*) remove_tree "$place" ;; esac
        done <"$dir/elsewhere"
    fi
    for place in "$dir"/*; do
        [ "$place" = "$dir/owner" ] || remove_tree "$place"
    done
    rm -rf "$dir"
}

# The orphans of a server that was killed may write for another moment.
remove_tree() {
    local tries=20
    until rm -rf "$1" 2>/dev/null || [ $tries -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
}

clean_up_after_the_dead() {
    local dir pid birth
    for dir in "$scratch"/foreman-test.*/; do
        dir=${dir%/}
        if [ ! -O "$dir" ] || [ ! -f "$dir/owner" ]; then continue; fi
        read -r pid birth <"$dir/owner" || continue
        if [ "$(born "$pid")" = "$birth" ]; then continue; fi # alive: a run beside ours
        echo "cleaning up after a run that was killed ($dir)" >&2
        stop_all_of "$dir" KILL
        remove_run_dir "$dir"
    done
}

# Sets run_dir. What the dead left is cleaned first.
make_run_dir() {
    clean_up_after_the_dead
    run_dir=$(mktemp -d "$scratch/foreman-test.XXXXXX")
    # Others may pass through, not look around: a database server that root started runs as another user below it.
    chmod 711 "$run_dir"
    echo "$$ $(born $$)" >"$run_dir/owner"
    mkdir "$run_dir/tmp" "$run_dir/logs"
    : >"$run_dir/skipped"
    : >"$run_dir/elsewhere"
}

# make_suite_dir RUN_DIR NAME — prints a directory for one suite of a run, in which it finds what the run shares.
make_suite_dir() {
    local dir=$1/of/$2 shared
    mkdir -p -m 711 "$1/of" "$dir"
    for shared in tests programs bin skipped elsewhere; do ln -sfn "../../$shared" "$dir/$shared"; done
    echo "$dir"
}
