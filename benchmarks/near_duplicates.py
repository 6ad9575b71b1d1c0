"""Compare indexes of near-duplicate requests: this project's content words, rapidfuzz over all texts, and MinHash (datasketch).

    pip install datasketch
    python benchmarks/near_duplicates.py [--pool 10000]

The pools are the desk's tasks and BFCL's 200. Each index is asked about different tasks of the pool, which must not be equal ("false
equal"); requests with one word replaced by its opposite, which must not be equal either; and the same request with courtesy, other case
and punctuation, which must be equal (else "missed"). Paraphrases by synonyms are counted, too. An index of texts cannot find them; they
are left to the keys of actions and end states.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import Any

from contamination import paraphrasing

from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.desk.generator import generate
from coevolve.plugins.validators.similarity import nearest, text_of

Index = Callable[[str], bool]
"""Whether a request has a near duplicate in the pool."""
ASKED = 60
"""Requests asked about, of each kind."""
OPPOSITES = """
delete keep / show hide / lock unlock / start stop / close open / add remove / buy sell / all none / first last / before after
include exclude / book cancel / send withdraw / invite uninvite / archive restore / save delete / mute unmute / finish begin
sync unlink / on under / to from
""".replace("\n", "/")
COURTESY = ("Hello! Could you please {}? Thank you.", "I would like you to {}", "please {}", "{}!!", "Kindly {}, thanks")


def content_words(pool: Sequence[str]) -> Index:
    """The validators' index: equal content words in order, then rapidfuzz over the texts."""
    known: dict[tuple[str, ...], list[Any]] = {}
    for query in pool:
        text = text_of(query)
        known.setdefault(text.content, []).append(text)

    def near(query: str) -> bool:
        text = text_of(query)
        return nearest(text, known.get(text.content, []), 60.0) is not None if text.content in known else False

    return near


def fuzzy(threshold: float) -> Callable[[Sequence[str]], Index]:
    def build(pool: Sequence[str]) -> Index:
        from rapidfuzz import fuzz, process

        plain = [text_of(query).plain for query in pool]

        def near(query: str) -> bool:
            return process.extractOne(text_of(query).plain, plain, scorer=fuzz.token_sort_ratio, score_cutoff=threshold) is not None

        return near

    return build


def minhash(threshold: float) -> Callable[[Sequence[str]], Index]:
    def build(pool: Sequence[str]) -> Index:
        from datasketch import MinHash, MinHashLSH

        def signature(query: str) -> Any:
            words = text_of(query).plain.split()
            made = MinHash(num_perm=128)
            made.update_batch([" ".join(pair).encode() for pair in pairwise(words)] or [b""])
            return made

        index = MinHashLSH(threshold=threshold, num_perm=128)
        for number, query in enumerate(pool):
            index.insert(str(number), signature(query))
        return lambda query: bool(index.query(signature(query)))

    return build


def opposite(query: str, rng: random.Random) -> str | None:
    """The request with one word replaced by its opposite; None when no word has one."""
    pairs = [pair.split() for pair in OPPOSITES.split("/") if pair.strip()]
    found = [(word, other) for a, b in pairs for word, other in ((a, b), (b, a)) if re.search(rf"\b{word}\b", query, re.IGNORECASE)]
    if not found:
        return None
    word, other = rng.choice(found)
    return re.sub(rf"\b{word}\b", other, query, count=1, flags=re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    desk = {task.intent: task.query for task in islice(generate("train", 0), given.pool)}  # other frames word the same request
    pools = {"desk": list(desk.values()), "bfcl": [task.query for task in Bfcl(BfclOptions()).tasks("all")]}
    ways: dict[str, Callable[[Sequence[str]], Index]] = {"content words": content_words}
    ways |= {f"rapidfuzz {t}": fuzzy(t) for t in (90, 95)} | {f"minhash {t}": minhash(t) for t in (0.7, 0.9)}
    words = paraphrasing()
    print("| pool | index | false equal | opposites equal | courtesy missed | synonyms missed | build s | ms a request |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, pool in pools.items():
        rng = random.Random(given.seed)
        picked = rng.sample(range(len(pool)), min(ASKED, len(pool) // 2))
        rest = [query for number, query in enumerate(pool) if number not in set(picked)]
        asked = [pool[number] for number in picked]
        turned = [text for query in rng.sample(rest, len(asked)) if (text := opposite(query, rng)) is not None]
        polite = [rng.choice(COURTESY).format(re.sub(r"^Please |[.?!]+$", "", query)) for query in rng.sample(rest, len(asked))]
        reworded = [words.paraphrase(query, rng) for query in rng.sample(rest, len(asked))]
        for way, build in ways.items():
            began = time.perf_counter()
            near = build(rest)
            built = time.perf_counter() - began
            began = time.perf_counter()
            shares = [sum(map(near, queries)) / len(queries) for queries in (asked, turned, polite, reworded)]
            each = (time.perf_counter() - began) / (len(asked) + len(turned) + len(polite) + len(reworded)) * 1000
            cells = " | ".join(f"{share:.1%}" for share in (shares[0], shares[1], 1 - shares[2], 1 - shares[3]))
            print(f"| {name} {len(rest)} | {way} | {cells} | {built:.1f} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
