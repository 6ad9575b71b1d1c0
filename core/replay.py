"""Play texts in a fresh episode of a task, as if a policy had written them, and keep the result."""

from collections.abc import Iterable, Iterator

from attrs import frozen

from .contracts import Environment, Episode
from .model import SUCCESS, Action, Message, Observation, Step, Task


@frozen
class Replay:
    """The result of texts in a fresh episode. `start` and `state` are digests of the world before and after; `score` is in [0, 1]."""

    observations: tuple[Observation, ...]
    start: str
    state: str
    score: float

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in order, inner ones included."""
        return tuple(step for seen in self.observations for step in seen.steps)

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """The steps that are actions of their own, in the actions' order: without what ran inside of them."""
        return tuple(step for step in self.steps if not step.inner)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The environment's messages after each text."""
        return tuple(message for seen in self.observations for message in seen.messages)

    @property
    def fault(self) -> str | None:
        """The first policy fault, None when there was none."""
        return next((seen.fault for seen in self.observations if seen.fault), None)

    @property
    def ending(self) -> Action | None:
        """The call that ended the episode, with its answer."""
        last = self.observations[-1] if self.observations else None
        return last.steps[-1].action if last is not None and last.done and last.steps else None

    @property
    def end(self) -> tuple[str, Action | None]:
        """The state and the answer that are left when the episode is over."""
        return self.state, self.ending

    @property
    def solved(self) -> bool:
        return self.score >= SUCCESS


def perform(episode: Episode, texts: Iterable[str]) -> Iterator[Observation]:
    """Step through `texts` until they run out or the episode is done; raises what the environment raises."""
    for text in texts:
        seen = episode.step(text)
        yield seen
        if seen.done:
            return


def play(environment: Environment, task: Task, texts: Iterable[str]) -> Replay:
    """Play `texts` in a fresh episode of `task`; raises what the environment raises."""
    with environment.open(task) as episode:
        start = episode.state()
        observations = tuple(perform(episode, texts))
        return Replay(observations, start, episode.state(), episode.score())
