#!/bin/sh
# Writes the compatibility corpus of one format with the rawko of that format:
#   write.sh RAWKO FOLDER
# Run once, by the release that introduces a format; the result is never written again.
set -eu
rawko=$1
out=$2
charts=$(cd "$(dirname "$0")/charts" && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
cd "$work"
mkdir -p .rawko/charts
cp "$charts"/*.yaml .rawko/charts
cat > .rawko/config.yaml <<'S'
services:
  charge_card: {command: [sh, -c, 'echo "{\"receipt\":\"r-1\"}"']}
  sleeps: {command: [sleep, "20"]}
governance:
  allow: [charge_card, sleeps]
S
export USER=ada HOME="$work"
quietly() { "$rawko" "$@" > /dev/null 2>&1 || true; }
quietly trust --yes
long=$(printf 'A long note. %.0s' $(seq 60))

# A person, a service and a child; ended.
quietly run order --id finished --input amount=30
quietly send finished NOTED --data "{\"text\":\"$long\"}" --key note-1
quietly approve finished
# A person is asked; a list grows past one chunk; an event that the state does not handle.
quietly run order --id asking --input amount=250
for i in $(seq 20); do quietly send asking LOGGED --data "{\"n\":$i,\"text\":\"$i: $long\"}"; done
quietly send asking UNKNOWN
# A step that cannot be taken.
quietly send asking SPUN
# The same with a past and another value.
quietly fork asking --at 18 --set amount=7 --id forked
# A child that waits for a timer.
quietly run order --id shipping --input amount=500
quietly approve shipping
quietly run order --id denied --input amount=9
quietly deny denied
quietly run order --id cancelled --input amount=9
quietly cancel cancelled
# A call that was running when the host was killed.
"$rawko" run slow --id killed > /dev/null 2>&1 &
pid=$!
until "$rawko" show killed 2> /dev/null | grep -q working; do sleep 0.1; done
kill -9 $pid
wait $pid 2> /dev/null || true

# One file. Formats before 4 had no `backup`: there, sqlite3 brought the log into the file.
"$rawko" backup "$out/store.db"
rm -rf "$work"
