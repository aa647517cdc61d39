#!/bin/sh
# The whole example with one command: a payment service on loopback, an order that a person releases, and one whose
# parcel cannot be sent and that is paid back. `RAWKO` says which rawko to use.
set -u
cd "$(dirname "$0")"
rawko=${RAWKO:-rawko}

# What earlier runs left behind would be gone on with; the demonstration starts afresh, in a store of its own.
state=$(mktemp -d)
python3 services/payments.py > "$state/address" &
payments=$!
trap 'kill $payments; rm -rf "$state"' EXIT
until [ -s "$state/address" ]; do sleep 0.05; done
PAYMENTS_URL=$(cat "$state/address")
RAWKO_STATE_DIR=$state/rawko
export PAYMENTS_URL RAWKO_STATE_DIR

step() {
    echo "\$ rawko $*"
    "$rawko" "$@"
    code=$?
    [ $code -eq 0 ] || echo "(exit code $code)"
    echo
}

step run order.yaml --id o-1 --input order_id=o-1 --input amount=250
step show o-1
step approve o-1
step run order.yaml --id o-2 --input order_id=o-2-nowhere --input amount=99
step approve o-2 --comment "if you can find it"
step ps --all
step history o-2
