#!/bin/sh
# The whole example with one command: npm, pytest, cargo and git, as an agent and the checks run them in the sandbox.
# `RAWKO` says which rawko to use, `PYTEST_HOME` the virtual environment with pytest if `python3` has none.
set -eu
cd "$(dirname "$0")"
rawko=${RAWKO:-rawko}

# The agents change files, so they get a copy.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R . "$copy/project"
cd "$copy/project"
RAWKO_STATE_DIR=$copy/state
export RAWKO_STATE_DIR
if [ -n "${PYTEST_HOME:-}" ]; then
    # Programs read the system and the project; other places are listed.
    echo "tools: {extra_read_paths: ['$PYTEST_HOME']}" >> .rawko/config.yaml
    PATH=$PYTEST_HOME/bin:$PATH
    export PATH
fi
git init -q
git add -A
git -c user.name=example -c user.email=example@localhost commit -qm 'Three parts, each with a fault'

"$rawko" trust --yes > /dev/null
"$rawko" task 'Make the tests of all parts pass' --agent developer --id fix
