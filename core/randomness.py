"""Every random draw of a run is a function of the seed, a purpose and the iteration, so a resumed run draws the same."""

import hashlib
import random


def derive(seed: int, *parts: str | int) -> int:
    """A 63-bit seed for one purpose.

    >>> derive(0, "sampler", 1) == derive(0, "sampler", 1) != derive(0, "sampler", 2)
    True
    """
    text = ":".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *parts: str | int) -> random.Random:
    """A random generator for one purpose, seeded by `derive`."""
    return random.Random(derive(seed, *parts))
