"""Stories that hold a wanted goal, for tests of the goals."""

import random
from collections.abc import Iterator

from coevolve import CandidateTask, Goal, Step, Task, TaskPool, Verdict
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.goals import story
from coevolve.environments.bfcl.goals.registry import KnownGoal
from coevolve.environments.bfcl.goals.scene import Scene
from coevolve.environments.bfcl.simulated_apis import Start, fresh
from coevolve.plugins.validators.execution import Execution, ExecutionOptions


def known(*modules: str) -> list[KnownGoal]:
    """The goals of these modules."""
    return [one for one in story.known_goals() if one.function.__module__.rpartition(".")[2] in modules]


def stories_with(bfcl: Bfcl, wanted: KnownGoal, rounds: int = 40) -> Iterator[tuple[Task, Goal]]:
    """Stories in training worlds that end with a goal, each with the task that it begins from."""
    for seed in range(rounds):
        for task in bfcl.tasks("train"):
            if {wanted.owner, *wanted.also} <= set(task.payload["involved_classes"]):
                scene = Scene(fresh(bfcl.apis, Start.of(task.payload)), random.Random(f"{seed} {task.id}"))
                if _ends_with(scene, wanted):
                    yield task, story._goal(scene.turns, None)


def _ends_with(scene: Scene, wanted: KnownGoal) -> bool:
    for _ in range(8):
        if all(scene.things.get(kind) for kind in wanted.needs) and story._take(scene, wanted):
            return True
        following = [one for one in story._following(scene) if one.topic != wanted.topic] if len(scene.turns) < 3 else []
        useful = [one for one in following if one.needs] if scene.chance(0.5) else []
        if not following:
            return False
        if story._take(scene, scene.rng.choice(useful or following)):
            scene.told.discard(wanted.topic)
    return False


def admission(bfcl: Bfcl, task: Task, goal: Goal) -> Verdict:
    """What the validator says of the task that a goal makes."""
    made = bfcl.compose(task, [Step(action, "", {}) for action in goal.actions], "made-1", goal.query)
    assert made is not None
    return Execution(ExecutionOptions(drop_all=True)).validate(CandidateTask(made), bfcl, TaskPool(()), ())
