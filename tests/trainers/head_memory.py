"""Print the peak memory, in MB, that an update on 1,024 tokens with a vocabulary of 150,000 adds to what an update on a few tokens took."""

import tempfile
from pathlib import Path
from typing import Any

import attrs
from equal_in_theory import HERE, imported, train  # type: ignore[import-not-found]  # lies beside this program

from coevolve import Tokens, Trajectory

ROWS, WIDTH, VOCABULARY = 8, 128, 150_000


def long(iteration: int, made: list[Trajectory]) -> list[Trajectory]:
    """Completions of WIDTH tokens, all of which carry loss, with different scores."""
    ids = tuple(range(3, 3 + WIDTH))
    tokens = Tokens(prompt_ids=(3,), completion_ids=ids, mask=(1,) * WIDTH, logprobs=(0.0,) * WIDTH)
    return [attrs.evolve(one, tokens=tokens, score=float(number % 2)) for number, one in enumerate(made)]


def peak() -> int:
    """MB of this program alone: the peak that getrusage gives begins with that of the process that started this one."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tiny: Any = imported(HERE.parent / "policies" / "tiny_llama.py")
        more = VOCABULARY - len(tiny.tokenizer())
        tiny.save(Path(folder) / "model", more=more, vocab_size=VOCABULARY, context=2 * WIDTH)
        options: dict[str, Any] = {"max_gap": 1e9, "beta": 0.0}
        train(Path(folder), options, batch=2, rollouts=ROWS // 2, steps=1)
        before = peak()
        _, loop = train(Path(folder), options, batch=2, rollouts=ROWS // 2, steps=1, change=long)
        assert loop.metrics[1]["trained_tokens"] == ROWS * WIDTH
        print(peak() - before)


if __name__ == "__main__":
    main()
