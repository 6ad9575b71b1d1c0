"""The policy that ships with the desk: its files, its tokenizer, where its weakness comes from, and how well it does."""

import random
import statistics
from collections import Counter
from hashlib import sha256
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coevolve import Step
from coevolve.environments.desk import Desk
from coevolve.environments.desk.demonstrations import CLUSTERINGS, ERROR, demonstrate, group_of, links_of, weak_links
from coevolve.environments.desk.generator import SHAPES, generate, plan_with, random_plan, word
from coevolve.environments.desk.policy_report import LONGEST, link_rates, link_report, successes, weak_in
from coevolve.environments.desk.tokens import END, UNKNOWN, make_tokenizer, vocabulary
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.environments.desk.train_policy import EXTRA_SHAPES, SHARE, WEAK_TURNS, batches, link_plans, rows, train
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


@pytest.mark.parametrize("clustering", CLUSTERINGS)
def test_as_many_links_are_weak_however_they_cluster(clustering: str) -> None:
    tables = [weak_links(seed, clustering) for seed in range(60)]
    assert sum(map(len, tables)) / len(tables) / len(LINKS) == pytest.approx(0.284, abs=0.02)
    assert all(table.keys() <= set(LINKS) for table in tables)
    assert len({frozenset(table) for table in tables}) == len(tables)
    assert not any(
        frozenset(table) == frozenset(weak_links(seed, other))
        for seed, table in enumerate(tables)
        for other in {*CLUSTERINGS} - {clustering}
    )


@pytest.mark.parametrize("clustering", CLUSTERINGS)
@pytest.mark.parametrize("level", CLUSTERINGS[:3])
def test_weak_links_cluster_on_the_level_that_is_asked_for_and_on_no_other(clustering: str, level: str) -> None:
    """The spread of the groups' weak shares, mean over seeds: two kinds of groups, or chance."""
    spreads = []
    for seed in range(20):
        habits, sizes = weak_links(seed, clustering), Counter(group_of(link, level) for link in LINKS)
        shares = [sum(group_of(link, level) == group for link in habits) / size for group, size in sizes.items()]
        spreads.append(statistics.stdev(shares))
    assert (statistics.mean(spreads) > 0.28) == (clustering == level), spreads


def test_an_unknown_clustering_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'apps'.*producing app"):
        weak_links(0, "apps")


def test_the_table_of_the_shipped_policy_stays_as_it_is() -> None:
    """The policy's weights come from this table, so another one would make the report about it false."""
    table = repr(sorted((link, habit.form, round(habit.probability, 9)) for link, habit in weak_links(0).items()))
    assert sha256(table.encode()).hexdigest()[:16] == "c93d0a462a7423c3"


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


@pytest.mark.parametrize("link", sorted(weak_links(1))[:4])
def test_errors_at_regular_intervals_are_as_many_as_the_habit_says_in_every_stretch(link: tuple[str, str]) -> None:
    rng, habit, due = random.Random(1), weak_links(1)[link], dict[tuple[str, str], float]()
    seen = [demonstrate(plan_with(rng, *link), rng.getrandbits(31), {link: habit}, rng, due) for _ in range(60)]
    wrong = [any(observation.startswith("error") for _, observation in calls) for calls in seen]
    for start in range(0, 60, 12):
        assert abs(sum(wrong[start : start + 12]) - 12 * habit.probability) <= 1


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


@pytest.mark.parametrize("link", LINKS[::7])
def test_a_plan_with_a_link_ends_with_it_and_is_solved(link: tuple[str, str]) -> None:
    plan = plan_with(random.Random(1), *link)
    assert links_of(plan)[0] == link and len(links_of(plan)) <= 2
    seen = demonstrate(plan, 3, {}, random.Random(1))
    assert not any(observation.startswith("error") for _, observation in seen)


def test_plans_by_link_go_through_weak_links_more_often_and_through_all() -> None:
    weak = weak_links(1)
    turn = len(LINKS) + (WEAK_TURNS - 1) * len(weak)
    counts = Counter(links_of(plan)[0] for plan in islice(link_plans(random.Random(1), weak), int(3 * turn / SHARE)) if links_of(plan))
    assert set(counts) == set(LINKS)
    mean = {of_weak: statistics.mean(counts[link] for link in LINKS if (link in weak) == of_weak) for of_weak in (True, False)}
    assert WEAK_TURNS / 2 < mean[True] / mean[False] < WEAK_TURNS


def test_a_base_policy_begins_with_the_weights_that_it_is_given(model: "LlamaForCausalLM") -> None:
    import torch

    before = model.state_dict()
    still, moved = (train(3, steps, verbose=False, clustering="consuming app", base=FOLDER)[0] for steps in (0, 1))
    again = train(3, 1, verbose=False, clustering="consuming app", base=FOLDER)[0].state_dict()
    other = train(3, 1, verbose=False, base=FOLDER)[0].state_dict()
    assert all(torch.equal(before[name], value) for name, value in still.state_dict().items())
    assert all(torch.equal(again[name], value) for name, value in moved.state_dict().items())
    assert any(not torch.equal(before[name], again[name]) for name in before)
    assert any(not torch.equal(other[name], again[name]) for name in other)


def test_the_rates_of_links_tell_weak_from_strong(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast") -> None:
    habits, rates = weak_links(0), link_rates(model, tokenizer)
    assert set(rates) == set(LINKS)
    weak, strong = ([rates[link] for link in LINKS if (link in habits) == of_weak] for of_weak in (True, False))
    assert 0.22 <= statistics.mean(rate for rate, _ in weak) <= 0.42
    assert statistics.mean(rate for rate, _ in strong) >= 0.95
    assert statistics.mean(greedy for _, greedy in weak) <= 0.15 and statistics.mean(greedy for _, greedy in strong) >= 0.97
    assert f"greedy right on {sum(greedy for _, greedy in weak)} of {len(weak)}" in link_report(rates, "weak", habits)


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
