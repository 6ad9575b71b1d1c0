"""Episodes of four turns with SmolLM2-135M: coevolve's loop and one that prefills the whole conversation at every turn, in one run.

    OMP_NUM_THREADS=1 python benchmarks/smollm2_turns.py [EPISODES] [ROUNDS]

An episode has a request of about 300 tokens, four completions of at most 24 tokens, and an observation of about 60 tokens after each of the
first three. Both sides sample at temperature 1. Times are CPU seconds of this process, on one thread.
"""

import statistics
import sys
import time
from typing import Any

from coevolve import Sampling, Task
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

TURNS, NEW_TOKENS, GROUP = 4, 24, 4
REQUEST = "Read the notes of the meeting and say who does what until when. " * 20
SEEN = {"role": "user", "content": "The note says that the draft goes to the editor on Monday and comes back on Friday. " * 3}


def lockstep(policy: TransformersPolicy, episodes: int, seed: int) -> int:
    """Play all episodes with coevolve; returns the number of sampled tokens."""
    talks = [
        policy.begin(Task(f"t{n // GROUP}", "none", "q"), [{"role": "user", "content": f"{n // GROUP}. {REQUEST}"}], None, n)
        for n in range(episodes)
    ]
    for turn in range(TURNS):
        policy.complete(talks, Sampling(1.0, NEW_TOKENS, seed))
        if turn + 1 < TURNS:
            for talk in talks:
                talk.observe([SEEN])
    policy.release()
    return sum(sum(talk.tokens.mask) for talk in talks)


def plain(policy: TransformersPolicy, episodes: int, seed: int) -> int:
    """Play all episodes with `generate` alone; returns the number of sampled tokens."""
    import torch

    torch.manual_seed(seed)
    model, tokenizer = policy.model, policy.tokenizer
    talks: list[list[dict[str, Any]]] = [[{"role": "user", "content": f"{n // GROUP}. {REQUEST}"}] for n in range(episodes)]
    tokens = 0
    for turn in range(TURNS):
        texts = [tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True) for talk in talks]
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        with torch.no_grad():
            out = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=True, top_k=0)
        new = out[:, inputs["input_ids"].shape[1] :]
        tokens += int((new != tokenizer.pad_token_id).sum())
        for talk, text in zip(talks, tokenizer.batch_decode(new, skip_special_tokens=True), strict=True):
            talk.append({"role": "assistant", "content": text})
            if turn + 1 < TURNS:
                talk.append(dict(SEEN))
    return tokens


def main() -> None:
    episodes, rounds = (int(n) for n in (*sys.argv[1:], "8", "3")[:2])
    policy = TransformersPolicy(TransformersOptions(model="smollm2-135m-instruct"))
    ways = {"coevolve": lockstep, "plain": plain}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for seed in range(rounds):
        for name, way in ways.items():
            began = time.process_time()
            tokens = way(policy, episodes, seed)
            seconds[name].append((time.process_time() - began) / tokens)
            print(f"{name}: {seconds[name][-1] * 1e3:.1f} ms a sampled token, {tokens} tokens", flush=True)
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    print(f"plain / coevolve: {statistics.median(ratios):.1f} times the seconds a token ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    main()
