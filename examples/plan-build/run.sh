#!/bin/sh
# The whole example with one command: a project with failing tests, and agents that plan, build and check until they pass.
# The models are scripted; tools, refusals and test runs are real. `RAWKO` says which rawko to use.
set -u
cd "$(dirname "$0")"
rawko=${RAWKO:-rawko}

# The agents change files, so they get a copy.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R . "$copy/project"
cd "$copy/project" || exit 1
# Its instances, too, are gone afterwards.
rm -rf .rawko/state
RAWKO_STATE_DIR=$copy/state
export RAWKO_STATE_DIR

step() {
    echo "\$ $*"
    "$@"
    code=$?
    [ $code -eq 0 ] || echo "(exit code $code)"
    echo
}

rawko() { "$rawko" "$@"; }

step python3 -m unittest -q 2>&1 | grep -E '^(\$|FAILED|\(exit)'
echo
step rawko agents list
step rawko run charts/plan_build.yaml --id fix-1 --input goal="Make the tests pass"
step rawko logs fix-1.planner.1 --audit
step python3 -m unittest -q 2>&1 | grep -E '^(\$|OK|FAILED)'
