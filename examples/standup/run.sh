#!/bin/sh
# The whole example with one command: a server, two agents that it starts, one that connects from outside, and a person
# who asks. `RAWKO` says which rawko to use.
set -u
cd "$(dirname "$0")"
rawko=${RAWKO:-rawko}

state=$(mktemp -d)
RAWKO_STATE_DIR=$state/rawko
# The token of the agent that connects: it takes turns with it, and can do nothing else.
REPORTER_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export RAWKO_STATE_DIR REPORTER_TOKEN
"$rawko" serve --listen 127.0.0.1:0 > "$state/serve.txt" 2> "$state/log.jsonl" &
serve=$!
reporter=
trap 'kill $serve $reporter 2> /dev/null; wait $serve 2> /dev/null; rm -rf "$state"' EXIT
trap 'exit 143' INT TERM
until grep -qs http:// "$state/serve.txt"; do sleep 0.05; done
python3 agents/reporter.py "$(sed -n '1s,http://\(.*\),ws://\1/v1/agents,p' "$state/serve.txt")" &
reporter=$!

step() {
    echo "\$ rawko $*"
    "$rawko" "$@"
    echo
}

# Paused until everybody is there, so that the first turn is the planner's.
"$rawko" channels create standup > /dev/null
"$rawko" channels pause standup > /dev/null
"$rawko" channels assign standup planner reporter scribe > /dev/null
until [ "$("$rawko" channels show standup | grep -c QUEUED)" = 3 ]; do sleep 0.05; done
"$rawko" channels resume standup > /dev/null
"$rawko" chat standup --patience 1m < /dev/null > /dev/null

ask() {
    echo "\$ echo '$1' | rawko chat standup --patience 1m"
    echo "$1" | "$rawko" chat standup --patience 1m > /dev/null
    echo
}

ask 'What is new?'
ask 'And CI?'
step channels messages standup
step channels show standup
echo "\$ rawko channels log standup | the last turn"
"$rawko" channels log standup | tail -n 4 | sed 's/"timestamp":"[^"]*"/"timestamp":"…"/'
