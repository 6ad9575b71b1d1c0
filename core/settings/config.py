"""A run's configuration: every setting with its default and unit. Precedence: defaults < recipe < file < command line.

seed = 3
[policy]
name = "transformers"      # which component
model = "path/to/model"    # its own options, see its Options class
[signals]
names = ["boundary", "rare"]
[signals.rare]
theta = 1.0
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import tomli_w
from attrs import Factory, evolve, field, frozen
from attrs.validators import and_, ge, gt, le, lt, min_len

from ..errors import UserError
from ..optional import HasAnswerBudget
from ..registry import Registry
from .retirement import Retirement
from .sources import ABSENT, MANY, ONE, SettingSource, merge, recipes, setting_sources, source_of
from .toml_to_attrs import NONE, SettingError, describe, plain, structure, unknown_key

__all__ = ["Chosen", "Config", "Evaluation", "PluginChoice", "dump_toml", "load_config", "plugin_choice", "recipes", "resolve"]

DEFAULT_RECIPE = "desk"
SECONDS: Any = and_(gt(0), le(10_000_000))
"""Bounds of a deadline in seconds: the upper one is what the system's clocks can wait for, repetitions included."""


@frozen
class Chosen:
    """A component's name, with an instance of its Options class."""

    name: str
    options: Any

    @property
    def model(self) -> str | None:
        """A policy's option `model` (contracts.Policy); None for a policy without one."""
        found = getattr(self.options, "model", None)
        return found if isinstance(found, str) else None


@frozen
class Evaluation:
    """When and on what the held-out success is measured."""

    every: int = field(default=20, validator=ge(0))
    """Iterations between evaluations; 0 evaluates only before the first and after the last iteration."""
    tasks: int = field(default=200, validator=ge(0))
    """Tasks of an evaluation during training (0: all)."""
    final_tasks: int = field(default=400, validator=ge(0))
    """Tasks of the evaluations before the first and after the last iteration (0: all)."""
    split: str = "test"
    """The environment's held-out split; candidates that nearly copy one of its tasks are refused."""
    overlap: Literal["refuse", "report"] = "refuse"
    """What becomes of a run whose first tasks are held-out tasks too: "refuse" to start it, or "report" it with every result."""
    modes: tuple[Literal["greedy", "sampled"], ...] = field(default=("greedy", "sampled"), validator=min_len(1))
    """greedy: temperature 0; sampled: the training temperature."""


@frozen
class PluginChoice:
    """Which plugins are loaded, by names or patterns such as "coevolve.signals.*"."""

    only: tuple[str, ...] = ()
    """Plugins to load; empty: all."""
    block: tuple[str, ...] = ()
    """Plugins that are not loaded."""


@frozen(kw_only=True)
class Config:
    """The resolved configuration of a run. An iteration is one batch of rollouts with its GRPO update."""

    seed: int = field(default=0, validator=and_(ge(0), lt(2**32)))
    """Seed of every random draw of the run."""
    steps: int = field(default=60, validator=and_(ge(0), le(1_000_000)))
    """Iterations of the whole run."""
    evolve_every: int = field(default=10, validator=ge(1))
    """Iterations between evolutions of the task pool (paper: 10)."""
    batch: int = field(default=16, validator=ge(1))
    """B: tasks of an iteration (paper: 32)."""
    rollouts: int = field(default=8, validator=ge(2))
    """K: rollouts of each task of an iteration (paper: 8); a group of one has no advantage."""
    refill: int = field(default=0, validator=and_(ge(0), le(1000)))
    """Rounds of further tasks, at most, that an iteration rolls out to replace groups with equal rewards, which teach nothing (DAPO's
    dynamic sampling; 0: none, as in the paper). Each has as many tasks as mixed groups are missing; all their rollouts count."""
    temperature: float = field(default=1.0, validator=gt(0))
    """Sampling temperature of the rollouts."""
    max_new_tokens: int = field(default=256, validator=ge(1))
    """Largest number of tokens of one completion. Where it is not set, the environment's own number holds, if it has one."""
    max_completions: int = field(default=200, validator=ge(1))
    """Largest number of completions of one episode; one that is not done by then is a policy fault. The environment may end it before."""
    initial_tasks: int = field(default=64, validator=ge(0))
    """Size of the first task pool, D_0, a seeded choice from the train split (0: all tasks; paper: 100)."""
    initial_synthetic: int = field(default=0, validator=ge(0))
    """Tasks of D_0 that the synthesizer makes in the worlds of the `initial_tasks`, which are then not trained on themselves, and which
    must pass the same validators (paper: 100). 0: D_0 is the `initial_tasks` themselves."""
    tasks_per_evolution: int = field(default=16, validator=ge(0))
    """Number of admitted tasks that ends an evolution; 0 keeps the pool as it begins, also where there is a synthesizer."""
    candidates_per_task: int = field(default=8, validator=ge(1))
    """Largest number of candidates that are validated for each wanted task."""
    repairs: int = field(default=1, validator=and_(ge(0), le(1000)))
    """Largest number of times that a refused candidate goes back to a synthesizer that can repair it; what it then makes is validated
    beside the `candidates_per_task`. 0: never."""
    checkpoint_every: int = field(default=10, validator=ge(1))
    """Iterations between checkpoints; the last iteration always writes one."""
    train_split: str = "train"
    """The environment's split that the first task pool and synthesis start from."""
    step_timeout: float = field(default=30.0, validator=SECONDS)
    """Seconds that one call into the environment may take; a rollout with a longer one is an infrastructure fault."""
    tasks_timeout: float = field(default=900.0, validator=SECONDS)
    """Seconds that the environment may take to list its splits, or the tasks of one; it may have to fetch its data first."""
    synthesis_timeout: float = field(default=3000.0, validator=SECONDS)
    """Seconds that the synthesizer may take for its next candidate; a longer wait ends the evolution with the tasks admitted so far."""
    max_concurrent_rollouts: int = field(default=0, validator=ge(0))
    """Rollouts that a process samples at once (0: all). Fewer need less memory for keys and values, and more time."""
    workers: int = field(default=1, validator=ge(1))
    """Threads that call the environment."""
    fault_limit: float = field(default=0.5, validator=and_(gt(0), le(1)))
    """Largest share of infrastructure faults among an iteration's rollouts, in (0, 1]; a larger one stops the run, which can be resumed."""
    process_timeout: float = field(default=3600.0, validator=SECONDS)
    """Seconds that the processes of a run wait for each other, also during synthesis; a longer wait stops the run, which can be resumed."""
    stalled_after: int = field(default=5, validator=ge(1))
    """Iterations in a row in which every group has equal scores, after which the run prints why it learns nothing."""
    replay: str = ""
    """Folder of a run whose stored teacher calls answer this run's requests, at no cost; all other settings must be that run's."""
    retirement: Retirement = Factory(Retirement)
    """When tasks rest."""
    evaluation: Evaluation = Evaluation()
    """When and on what the held-out success is measured."""
    plugins: PluginChoice = PluginChoice()
    """Which plugins are loaded."""
    environment: Chosen
    """Where tasks are carried out."""
    policy: Chosen
    """The engine that samples from the model."""
    trainer: Chosen
    """How the policy is updated."""
    sampler: Chosen
    """How the tasks of an iteration are picked from the pool."""
    synthesizer: Chosen | None = None
    """What makes new tasks from signals; None (in TOML: name = "none") keeps the pool static."""
    executor: Chosen | None = None
    """Where the environment's work is done; None (in TOML: name = "threads"): in `workers` threads of this process."""
    signals: tuple[Chosen, ...] = Factory(tuple)
    """Detectors of weaknesses, whose signals guide the synthesizer."""
    validators: tuple[Chosen, ...] = Factory(tuple)
    """Checks that a candidate must pass, in this order; with none every candidate is admitted (the paper's arm without validation)."""

    def as_dict(self) -> dict[str, Any]:
        """The configuration as TOML values; `load_config` of it gives this configuration again."""
        found = plain(self)
        for key in ONE:
            table = found[key]
            found[key] = {"name": ABSENT[key]} if table == NONE else {"name": table["name"], **table["options"]}
        for key in MANY:
            tables = found[key]
            found[key] = {"names": [t["name"] for t in tables], **{t["name"]: t["options"] for t in tables if t["options"]}}
        return found


def resolve(registry: Registry, sources: Sequence[SettingSource]) -> Config:
    """Merge `sources`, lowest first, into a checked configuration.

    UserError in one line (source, key, what was expected and found) for a setting that does not fit.
    """
    try:
        merged = merge(sources)
        config = _structure(registry, merged)
    except SettingError as error:
        raise _user_error(error, source_of(sources, error.path)) from error
    environment = registry.component("environment", config.environment.name)
    if "max_new_tokens" in merged or not isinstance(environment, HasAnswerBudget):
        return config
    return evolve(config, max_new_tokens=environment.answer_budget(config.environment.options))


def load_config(registry: Registry, recipe: str | None = DEFAULT_RECIPE, file: Path | None = None, sets: Sequence[str] = ()) -> Config:
    """Read a recipe, a file and `--set` texts, and `resolve` them."""
    return resolve(registry, setting_sources(recipe, file, sets))


def plugin_choice(sources: Sequence[SettingSource]) -> PluginChoice:
    """The `plugins` table alone: it is needed before there is a registry to check the rest against."""
    try:
        return structure(merge(sources).get("plugins", {}), PluginChoice, "plugins")
    except SettingError as error:
        raise _user_error(error, source_of(sources, error.path)) from error


def dump_toml(config: Config) -> str:
    """The whole configuration as TOML text that `load_config` reads back to an equal one."""
    return tomli_w.dumps(config.as_dict())


def _structure(registry: Registry, values: dict[str, Any]) -> Config:
    given = dict(values)
    for key in ONE:
        given[key] = _one(registry, key, given.get(key, {}))
    for key, kind in MANY.items():
        given[key] = _many(registry, key, kind, given.get(key, {}))
    return structure(given, Config)


def _one(registry: Registry, kind: str, table: object) -> Chosen | None:
    if not isinstance(table, dict):
        raise SettingError(kind, f"{kind}: expected a table, found {describe(table)}; choose a component with {kind}.name")
    options = dict(table)
    name = options.pop("name", None if options else ABSENT.get(kind))
    if name is not None and name != ABSENT.get(kind):
        return _chosen(registry, kind, name, options, f"{kind}.name", kind)
    for key in options:
        if get_close_matches(key, ("name",)):
            raise unknown_key(kind, key, ("name",))
    if name is None:
        raise SettingError(kind, f"{kind}.name is missing; choose one of {_all(registry, kind)}")
    if options:
        text = f'{kind} has options but {kind}.name is "{name}"; choose one of {_all(registry, kind)}'
        raise SettingError(f"{kind}.{min(options)}", text)
    return None


def _many(registry: Registry, key: str, kind: str, table: object) -> tuple[Chosen, ...]:
    if not isinstance(table, dict):
        raise SettingError(key, f"{key}: expected a table, found {describe(table)}; choose components with {key}.names = [...]")
    tables = dict(table)
    names = structure(tables.pop("names", []), tuple[str, ...], f"{key}.names")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise SettingError(f"{key}.names", f"{key}.names holds {repeated[0]!r} twice; name it once")
    for name in tables:
        if name in registry.names(kind) and name not in names:
            raise SettingError(
                f"{key}.{name}", f"{key}.{name} has options but {name!r} is not in {key}.names; add it there or remove the table"
            )
        if name not in names:
            raise unknown_key(key, name, (*registry.names(kind), "names"))
    return tuple(_chosen(registry, kind, name, tables.get(name, {}), f"{key}.names", f"{key}.{name}") for name in names)


def _chosen(registry: Registry, kind: str, name: object, options: object, name_path: str, path: str) -> Chosen:
    name = structure(name, str, name_path)
    try:
        component = registry.component(kind, name)
    except UserError as error:
        raise SettingError(name_path, f"{name_path}: {error}") from error
    beside = ("name",) if kind in ONE else ()
    return Chosen(name, structure(options, component.Options, path, beside))


def _all(registry: Registry, kind: str) -> str:
    return ", ".join(registry.names(kind))


def _user_error(error: SettingError, where: str | None) -> UserError:
    return UserError(f"{where}: {error.text}" if where else error.text)
