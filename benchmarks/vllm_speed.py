"""Compare policy "vllm" with policy "transformers" on SmolLM2-135M in one run: agreement of log-probabilities, and tokens a second.

    OMP_NUM_THREADS=1 python benchmarks/vllm_speed.py [MODEL] [NEW_TOKENS] [ROUNDS]

Needs vLLM (benchmarks/vllm_check.sh makes an environment with its CPU build). Every row samples two turns of NEW_TOKENS tokens with an
observation between them. End tokens do not end a turn, and both engines keep their cache of the first turn. Rounds alternate. The rate is
tokens a CPU second, which other jobs on the machine disturb least; with one thread this is the wall time on a quiet machine. The agreement
is the gap between each engine's log-probabilities and those of a plain pass over the same tokens, with the model's own weights and after
two updates of them, which vLLM loads.
"""

import statistics
import sys
import time
from typing import Any

import torch

from coevolve import Sampling, Task
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.policies.vllm import VllmOptions, VllmPolicy

BATCHES = (8, 32)
THINGS = ("the tides", "a lighthouse", "bread", "a bicycle", "winter", "an engine", "maps", "the moon")
CONTEXT = 512


def talk(policy: Any, rows: int, tokens: int, seed: int) -> tuple[list[Any], float]:
    """Sample conversations of two turns; returns them and the CPU seconds."""
    queries = [f"Tell a child in plain words what is remarkable about {THINGS[n % len(THINGS)]}, and why." for n in range(rows)]
    talks = [policy.begin(Task(str(n), "none", q), [{"role": "user", "content": q}], None, n) for n, q in enumerate(queries)]
    began = time.process_time()
    policy.complete(talks, Sampling(1.0, tokens, seed))
    for one in talks:
        one.observe([{"role": "user", "content": "Say it shorter, and begin with what matters most."}])
    policy.complete(talks, Sampling(1.0, tokens, seed))
    seconds = time.process_time() - began
    policy.release()
    return talks, seconds


def gap(model: Any, talks: list[Any]) -> tuple[float, float, float]:
    """Mean and largest absolute difference from a plain pass, and the mean ratio of probabilities."""
    found = []
    for tokens in (one.tokens for one in talks):
        ids = torch.tensor([tokens.prompt_ids + tokens.completion_ids])
        with torch.no_grad():
            logp = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        found.append((logp[len(tokens.prompt_ids) - 1 :] - torch.tensor(tokens.logprobs))[torch.tensor(tokens.mask) == 1])
    whole = torch.cat(found)
    return whole.abs().mean().item(), whole.abs().max().item(), whole.exp().mean().item()


def main() -> None:
    name, tokens, rounds = (*sys.argv[1:], *("smollm2-135m-instruct", "16", "3")[len(sys.argv) - 1 :])[:3]
    policies: dict[str, Any] = {
        "transformers": TransformersPolicy(TransformersOptions(model=name, device="cpu", max_context=CONTEXT)),
        "vllm": VllmPolicy(VllmOptions(model=name, device="cpu", max_context=CONTEXT, cache_gb=1.0)),
    }
    for policy in policies.values():
        policy.eos = frozenset()  # every row is as long as the others
        began = time.perf_counter()
        talk(policy, 2, 2, 0)
        print(f"{policy.name}: {time.perf_counter() - began:.1f} s to start", flush=True)
    for rows in BATCHES:
        rates: dict[str, list[float]] = {engine: [] for engine in policies}
        for seed in range(int(rounds)):
            for engine, policy in policies.items():
                talks, seconds = talk(policy, rows, int(tokens), seed)
                rates[engine].append(sum(sum(one.tokens.mask) for one in talks) / seconds)
        ratio = statistics.median(b / a for a, b in zip(rates["transformers"], rates["vllm"], strict=True))
        shown = ", ".join(f"{engine} {statistics.median(found):.1f} tokens a processor second" for engine, found in rates.items())
        print(f"batch {rows}: {shown}; vllm / transformers {ratio:.2f}", flush=True)
    model = policies["vllm"].load()
    live = {engine: policy.over(model) for engine, policy in policies.items()}
    for policy in live.values():
        policy.eos = frozenset()
    for update in range(3):
        if update:
            torch.manual_seed(update)
            with torch.no_grad():
                for weight in model.parameters():
                    weight.mul_(1 + 0.01 * torch.randn_like(weight))
            began = time.perf_counter()
            live["vllm"].take_weights()
            talk(live["vllm"], 1, 1, 0)
            print(
                f"update {update}: vLLM took the weights over and sampled a token twice in {time.perf_counter() - began:.1f} s", flush=True
            )
        for engine, policy in live.items():
            mean, most, ratio = gap(model, talk(policy, 4, int(tokens), 7)[0])
            print(f"after {update} updates, {engine}: mean gap {mean:.1e}, largest {most:.1e}, mean ratio {ratio:.7f}", flush=True)


if __name__ == "__main__":
    main()
