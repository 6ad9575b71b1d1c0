"""`coevolve eval`: the held-out success of one policy or of several. The command's heavy parts are imported when it runs."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import typer

from ..errors import UserError
from ..run.exit_codes import resumable
from .arguments import AsJson, Block, ConfigFile, Sets
from .output import say

if TYPE_CHECKING:
    from ..registry import Registry
    from ..rollouts.evaluation_report import EvaluationReport
    from ..settings.config import Config
    from ..settings.sources import SettingSource


BASE_RECIPE = "desk"
BARE = {"policy": {"name": "transformers"}, "trainer": {"name": "grpo"}, "sampler": {"name": "uniform"}}
"""What an evaluation begins with where no recipe and no file is named and the environment is not the default recipe's: only components that
every configuration must name. It takes no number from a recipe that was made for another environment."""


def evaluate(
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="Settings to begin with. The default is desk, but only for the environment desk."),
    ] = None,
    config: ConfigFile = None,
    sets: Sets = None,
    environment: Annotated[str | None, typer.Option("--env", metavar="NAME", help="Short for --set environment.name=NAME.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Short for --set policy.name=NAME.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PATH", help="Short for --set policy.model=PATH, such as RUN/policy; several make a table."),
    ] = None,
    arms: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="TOML file with a table [[policy]] for each policy to evaluate, for one table."),
    ] = None,
    split: Annotated[str | None, typer.Option("--split", metavar="NAME", help="Short for --set evaluation.split=NAME.")] = None,
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=0, help="How many of the split's tasks (0: all).")] = 0,
    mode: Annotated[
        Literal["greedy", "sampled"], typer.Option("--mode", help="greedy: temperature 0; sampled: the training temperature.")
    ] = "greedy",
    samples: Annotated[
        int, typer.Option("--samples", metavar="K", min=1, help="Rollouts of each task: the k of avg@k and best@k (pass@k).")
    ] = 1,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Do it with N seeds, from the configuration's on.")] = 1,
    as_json: AsJson = False,
    block: Block = None,
) -> None:
    """Success of a policy on a split of an environment; trains nothing."""
    if arms and (policy or model):
        raise UserError("--from names the policies already: remove --policy and --model")
    from ..run.prepare import prepare
    from ..settings.sources import given_options, setting_sources

    named = given_options(
        ("--env", "environment.name", environment), ("--split", "evaluation.split", split), ("--policy", "policy.name", policy)
    )
    each = [[arm] for arm in read_arms(arms)] if arms else [given_options(("--model", "policy.model", path)) for path in model or (None,)]
    if recipe is None and config is None:
        own_settings = [*setting_sources(None, None, sets or ()), *named]
        common = [*_base(own_settings, bool(arms or model)), *own_settings]
    else:
        common = [*setting_sources(recipe or BASE_RECIPE, config, sets or ()), *named]
    # Every arm's settings and files are checked before the first one takes its time.
    ready = [prepare([*common, *own], block or ()) for own in each]
    for settings, registry in ready:
        check_policy(settings, registry)
    assumed = _assumed(ready[0][0], common)
    reports: list[EvaluationReport] = []
    with resumable(None):
        try:
            for settings, registry in ready:
                report = run_eval(settings, registry, tasks=tasks, mode=mode, samples=samples, seeds=seeds)
                reports.append(attrs.evolve(report, assumed=assumed))
        finally:  # the evaluations that are done are printed, whatever became of the rest
            if reports:
                _print_reports(reports, alone=len(ready) == 1, as_json=as_json)


def _base(given: "list[SettingSource]", model: bool) -> "list[SettingSource]":
    """What lies below the options of an evaluation without --recipe and --config. UserError where nothing names the policy."""
    from ..settings.sources import SettingSource, merge, setting_sources

    desk, own = setting_sources(BASE_RECIPE, None, ()), merge(given)
    chosen = own.get("environment")
    name = chosen.get("name") if isinstance(chosen, dict) else None
    if name in (None, merge(desk)["environment"]["name"]):
        return desk
    if not model and "policy" not in own:
        raise UserError(f"which policy is to be evaluated on {name}? name it with --model PATH or --policy NAME (or give --config)")
    return [SettingSource("coevolve eval", BARE)]


def _assumed(config: "Config", sources: "list[SettingSource]") -> str:
    """What the settings do not say about the length of answers, in words; empty where they say it."""
    from ..settings.sources import merge

    if "max_new_tokens" in merge(sources):
        return ""
    return f"answers of at most {config.max_new_tokens} tokens, the default for {config.environment.name}; max_new_tokens changes it"


def _print_reports(reports: "list[EvaluationReport]", *, alone: bool, as_json: bool) -> None:
    from rich.console import Console

    from ..rollouts.evaluation_report import render_table

    if as_json:
        say(reports[0].to_json() if alone else json.dumps({"evaluations": [report.as_dict() for report in reports]}))
    elif alone:
        reports[0].render(Console(soft_wrap=True))
    else:
        console = Console()
        render_table(reports, console if console.is_terminal else Console(width=160))


def run_eval(
    config: "Config", registry: "Registry", *, tasks: int = 0, mode: str = "greedy", samples: int = 1, seeds: int = 1
) -> "EvaluationReport":
    """`coevolve eval`: build the environment and the policy of `config` and evaluate on `config.evaluation.split`."""
    from ..isolation.guard import check_splits, tasks_of
    from ..optional import NeedsEnvironment
    from ..record.timing import Clock
    from ..rollouts.evaluation import evaluate as success_of
    from ..rollouts.rehearsal import rehearse
    from ..rollouts.runner import RolloutLimits, RolloutRunner
    from ..workers.remote_environment import placed_environment

    with placed_environment(config, registry) as environment:
        check_splits(environment, [config.evaluation.split], config.tasks_timeout)
        policy: Any = registry.make("policy", config.policy)
        if isinstance(policy, NeedsEnvironment):
            policy.bind(environment)
        limits = RolloutLimits.of(config, environment)
        held_out = tasks_of(environment, config.evaluation.split, config.tasks_timeout)
        rehearse(policy, environment, held_out, config.step_timeout)
        with closing(RolloutRunner(environment, limits, Clock())) as runner:
            report = success_of(runner, policy, held_out, mode, config, count=tasks, samples=samples, seeds=seeds)
    return attrs.evolve(report, scorer=f"{config.environment.name} of {registry.distribution('environment', config.environment.name)}")


def check_policy(config: "Config", registry: "Registry") -> None:
    """UserError for what is wrong with the policy of `config`, as far as that is found without loading it."""
    from ..optional import Checkable

    policy: Any = registry.make("policy", config.policy)
    if isinstance(policy, Checkable):
        policy.check()


def read_arms(file: Path) -> "list[SettingSource]":
    """The tables `[[policy]]` of a file for `coevolve eval --from`: the settings of each policy to evaluate."""
    from ..settings.sources import SettingSource, read_file

    found = read_file(file)
    listed = found.get("policy")
    tables = isinstance(listed, list) and all(isinstance(one, dict) and "name" in one for one in listed)
    if set(found) != {"policy"} or not listed or not tables:
        raise UserError(f"{file} must hold one table [[policy]] for each policy to evaluate, each with its name, and nothing else")
    return [SettingSource(f"{file}, policy {number}", {"policy": one}) for number, one in enumerate(listed, 1)]
