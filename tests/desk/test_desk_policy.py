"""The policy that ships with the desk: its files, its tokenizer, where its weakness comes from, and how well it does."""

import random
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coevolve import Step
from coevolve.environments.desk import Desk
from coevolve.environments.desk.demonstrations import ERROR, demonstrate, links_of, weak_links
from coevolve.environments.desk.generator import SHAPES, generate, random_plan, word
from coevolve.environments.desk.policy_report import LONGEST, successes, weak_in
from coevolve.environments.desk.tokens import END, UNKNOWN, make_tokenizer, vocabulary
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.environments.desk.train_policy import EXTRA_SHAPES, batches, rows, train
from coevolve.environments.desk.wording import FRAMES, HELD_OUT_FRAMES

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

FOLDER = Path(str(files("coevolve.environments.desk"))) / "policy"
DESK = Desk(Desk.Options())


@pytest.fixture
def tokenizer() -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    loaded = PreTrainedTokenizerFast.from_pretrained(FOLDER)
    assert isinstance(loaded, PreTrainedTokenizerFast)
    return loaded


@pytest.fixture(scope="module")
def model() -> "LlamaForCausalLM":
    from transformers import AutoModelForCausalLM, LlamaForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(FOLDER)
    assert isinstance(loaded, LlamaForCausalLM)
    return loaded


def test_the_shipped_files_are_a_small_float32_llama_that_fits_the_vocabulary(model: "LlamaForCausalLM") -> None:
    import torch

    assert model.config.model_type == "llama"
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert 700_000 < sum(p.numel() for p in model.parameters()) < 900_000
    assert model.config.vocab_size == len(vocabulary())
    assert (FOLDER / "model.safetensors").stat().st_size < 4_000_000


def test_the_shipped_tokenizer_is_the_one_that_the_recipe_makes(tokenizer: "PreTrainedTokenizerFast") -> None:
    made = make_tokenizer()
    assert tokenizer.get_vocab() == made.get_vocab() == {word: i for i, word in enumerate(vocabulary())}
    assert tokenizer.chat_template == made.chat_template
    assert (tokenizer.eos_token, tokenizer.unk_token, tokenizer.padding_side) == (END, UNKNOWN, "left")
    assert tokenizer.backend_tokenizer.to_str() == made.backend_tokenizer.to_str()


def _round_trips(tokenizer: "PreTrainedTokenizerFast", text: str) -> list[int]:
    ids: list[int] = tokenizer(text)["input_ids"]
    assert tokenizer.unk_token_id not in ids, text
    assert tokenizer.decode(ids) == text
    return ids


def test_every_text_of_every_task_round_trips_without_unknown_tokens(tokenizer: "PreTrainedTokenizerFast") -> None:
    for split in DESK.splits():
        for task in DESK.tasks(split):
            assert len(_round_trips(tokenizer, task.query)) < 50
            with DESK.open(task) as episode:
                for text in DESK.script(task.solution):
                    assert len(_round_trips(tokenizer, text)) < LONGEST
                    for message in episode.step(text).messages:
                        _round_trips(tokenizer, message["content"])


@pytest.mark.parametrize("shape", EXTRA_SHAPES)
def test_every_text_of_composed_tasks_round_trips(tokenizer: "PreTrainedTokenizerFast", shape: str) -> None:
    from coevolve.environments.desk.wording import solve

    rng, start = random.Random(shape), DESK.tasks("train")[0]
    for i in range(50):
        steps: list[Step] = []
        with DESK.open(start) as episode:
            for text in DESK.script(solve(random_plan(rng, shape), start.payload["seed"])):
                steps.extend(episode.step(text).steps)
        task = DESK.compose(start, steps, f"made-{i}")
        assert task is not None
        assert len(_round_trips(tokenizer, task.query)) < 50
        for text in DESK.script(task.solution):
            _round_trips(tokenizer, text)


def test_the_chat_template_only_appends_and_demonstrations_are_rendered_as_it_renders(tokenizer: "PreTrainedTokenizerFast") -> None:
    rng, habits = random.Random("demonstrations 0"), weak_links(0)
    for ids, mask in islice(rows(tokenizer, 0), 50):
        plan = random_plan(rng, rng.choice(EXTRA_SHAPES) if rng.random() < 0.1 else rng.choices(list(SHAPES), list(SHAPES.values()))[0])
        messages = [{"role": "user", "content": word(plan, rng, (*FRAMES, *HELD_OUT_FRAMES))}]
        for call, seen in demonstrate(plan, rng.getrandbits(31), habits, rng):
            before = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
            messages += [{"role": "assistant", "content": call}]
            after = tokenizer.apply_chat_template(messages, return_dict=False)
            assert after[: len(before)] == before == ids[: len(before)]
            assert after == ids[: len(after)]
            assert mask[len(before) : len(after)] == [1] * (len(after) - len(before))
            assert after[-1] == tokenizer.eos_token_id
            messages += [{"role": "user", "content": seen}] if seen else []
        assert len(ids) == len(mask) == len(tokenizer.apply_chat_template(messages, return_dict=False))
        assert sum(mask) == sum(len(tokenizer(m["content"])["input_ids"]) + 1 for m in messages if m["role"] == "assistant")


@pytest.mark.parametrize("seed", range(5))
def test_weak_links_are_sparse_cluster_by_producing_app_and_differ_by_seed(seed: int) -> None:
    habits = weak_links(seed)
    assert habits == weak_links(seed) != weak_links(seed + 1)
    assert 0.18 < len(habits) / len(LINKS) < 0.42
    apps = {TOOLS[p].app for p, _ in LINKS}
    rates = sorted(sum(link in habits for link in of) / len(of) for app in apps if (of := [k for k in LINKS if TOOLS[k[0]].app == app]))
    assert min(rates[-5:]) > 0.4 > 0.3 > max(rates[:9])
    assert all(h.form != TOOLS[consumer].reads and ERROR[0] <= h.probability <= ERROR[1] for (_, consumer), h in habits.items())


def test_the_demonstrator_errs_on_weak_links_only_and_as_often_as_said() -> None:
    rng, habits = random.Random(1), weak_links(0)
    right, wrong = 0, 0
    for _ in range(4000):
        plan = random_plan(rng, "source action")
        weak = [habits[link] for link in links_of(plan) if link in habits]
        refused = any(seen.startswith("error") for _, seen in demonstrate(plan, rng.getrandbits(31), habits, rng))
        assert weak or not refused
        wrong, right = wrong + (refused and bool(weak)), right + (not refused and bool(weak))
    assert wrong / (wrong + right) == pytest.approx(sum(ERROR) / 2, abs=0.05)


def test_batches_hold_rows_of_similar_length_and_no_loss_outside_the_assistant(tokenizer: "PreTrainedTokenizerFast") -> None:
    for ids, labels in islice(batches(rows(tokenizer, 0)), 3):
        assert ids.shape == labels.shape and ids.shape[0] == 64
        kept = labels != -100
        assert bool((labels[kept] == ids[kept]).all())
        assert not bool(kept[:, 0].any())


def test_a_few_steps_of_the_recipe_are_reproducible() -> None:
    import torch

    first, second = (train(3, 2, verbose=False)[0].state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_shipped_policy_does_single_tools_fails_on_weak_links_and_leaves_room(
    model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast"
) -> None:
    tasks, habits = list(islice(generate("dev", 0), 120)), weak_links(0)
    scores = successes(model, tokenizer, DESK, tasks)
    weak = [weak_in(DESK, task, habits) > 0 for task in tasks]
    strong = [score for score, is_weak in zip(scores, weak, strict=True) if not is_weak]
    assert 0.45 <= sum(scores) / len(scores) <= 0.72
    assert sum(strong) / len(strong) >= 0.85
    assert sum(score for score, is_weak in zip(scores, weak, strict=True) if is_weak) / sum(weak) <= 0.25
