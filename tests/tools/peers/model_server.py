"""A small real model behind llama.cpp's own server, on loopback: prints its address and serves until it is stopped.

usage: model_server.py MODEL.gguf NAME
"""

import signal
import sys

import xllamacpp


def main(model, name):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    # Any free port.
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.use_jinja = True
    params.warmup = False
    # Two threads would only spin against each other.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


main(*sys.argv[1:])
