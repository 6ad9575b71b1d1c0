"""A real OpenAI-compatible server with a real model: llama.cpp (the wheel xllamacpp) over the GGUF of SmolLM2-135M-Instruct, on this CPU.

Run as a program it serves until its standard input ends: `python local_server.py MODEL.gguf` prints its address.
"""

import importlib.util
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_SECONDS = 120
WHEELS = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64"), ("Darwin", "x86_64"), ("Windows", "AMD64")}


def missing() -> str | None:
    """Why the server cannot run here; None when it can. A wheel that there is and that is not installed is an error, no reason."""
    if importlib.util.find_spec("xllamacpp") is None and (platform.system(), platform.machine()) not in WHEELS:
        return f"there is no wheel of xllamacpp for {platform.system()} {platform.machine()}"
    return None


@contextmanager
def running(model: Path, log: Path) -> Iterator[str]:
    """The server's base_url, while it runs in a process of its own; what the server says goes to `log`."""
    with log.open("wb") as said:
        command = [sys.executable, __file__, str(model)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            assert process.stdout is not None
            yield f"{_address(process.stdout, log)}/v1"
        finally:
            process.kill()
            process.communicate()


def _address(lines: Iterator[str], log: Path) -> str:
    found: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in lines:
            if line.startswith("ADDRESS "):
                found.put(line.split()[1])
                return
        found.put("")

    threading.Thread(target=read, daemon=True).start()
    try:
        address = found.get(timeout=READY_SECONDS)
    except queue.Empty:
        address = ""
    assert address, f"the server did not start: {log.read_text('utf-8', 'replace')[-2000:]}"
    return address


def serve(model: str) -> None:
    import xllamacpp  # type: ignore[import-untyped]  # has no stubs

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = model, {"smollm2"}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx = 2, 16384
    # One thread that does not spin: several wait for each other at every layer, which takes minutes where the cores are busy.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.warmup, params.ui = False, False
    server = xllamacpp.Server(params)
    print("ADDRESS", server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
