"""Estimate how often each link fails, also one that was never tried, without assuming what failing links have in common.

A task fails more often the more of its links fail. A link is like others that share something with it, but nobody knows what counts:

    -log(score of a task) = sum over its links of cost(link) + noise
    cost(link)            = mean + sum over groupings g of effect(g, group of the link in g),   effect(g, .) ~ N(0, variance of g)
    failure rate(link)    = 1 - exp(-cost(link))

The groupings are the producing and the consuming group of tools, the kind of value, the producer, the consumer and the link itself. Their
variances are learned from the scores by expectation maximisation: where failures cluster by consuming app, say, the variance of that
grouping grows and those of the others shrink. Without evidence every link has the same rate. Variance components by EM are a standard
model (Laird and Ware 1982, "Random-effects models for longitudinal data"); to apply it to links between tool calls is this project's own.

A fit inverts a matrix of tasks x tasks in each round. At most 1,000 tasks are surveyed (links.SURVEYED). One fit of so many, with two links
each in 470 groups, took 1.9 s on a core that other work shared. An evolution makes one fit, and another where candidates are repaired.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from .catalog import Catalog
from .links import Link

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

ROUNDS = 15
"""Rounds of expectation maximisation."""
LOWEST = 0.06
"""A score counts as at least this: log(0) is infinite, and no success in a few rollouts does not prove that none is possible."""
UNKNOWN = 0.5
"""Mean cost without any evidence."""

Group = tuple[str, str]
"""A grouping, and a group in it."""


@frozen
class ScoredTask:
    """The links that a task's solution uses, once for each use, and the task's score in [0, 1]."""

    links: tuple[Link, ...]
    score: float


def groups_of(link: Link, catalog: Catalog) -> tuple[Group, ...]:
    """The groups that a link belongs to, one for each grouping."""
    argument = catalog.argument(link.consumer, link.argument)
    kind = argument.format if argument is not None and argument.format else link.argument
    consumer = f"{link.consumer}.{link.argument}"
    return (
        ("calls from", catalog.group(link.producer)),
        ("calls to", catalog.group(link.consumer)),
        ("values of the kind", kind),
        ("results of", link.producer),
        ("arguments", consumer),
        ("the link", f"{link.producer} -> {consumer}"),
    )


@define
class RandomEffects:
    """The fitted model."""

    catalog: Catalog
    mean: float = UNKNOWN
    effects: Mapping[Group, float] = field(factory=dict)
    """Posterior means, in units of cost."""
    variances: Mapping[str, float] = field(factory=dict)
    """Variance of each grouping's effects."""
    _rates: dict[Link, float] = field(factory=dict)

    def failure_rate(self, link: Link) -> float:
        """The link's estimated failure rate, in (0, 1)."""
        if link not in self._rates:
            cost = self.mean + sum(self.effects.get(group, 0.0) for group in groups_of(link, self.catalog))
            self._rates[link] = 1 - math.exp(-max(cost, 1e-3))
        return self._rates[link]

    def strongest(self, link: Link) -> Group | None:
        """The group that raises the link's estimate most; None where none does."""
        best = max(groups_of(link, self.catalog), key=lambda group: self.effects.get(group, 0.0))
        return best if self.effects.get(best, 0.0) > 0 else None


def fit(tasks: Iterable[ScoredTask], catalog: Catalog) -> RandomEffects:
    """Fit the model to scored tasks. Tasks without links say nothing about links and are left out."""
    import numpy as np  # here, so that commands that fit nothing start without it

    rows = [one for one in tasks if one.links]
    if not rows:
        return RandomEffects(catalog)
    known = {link: groups_of(link, catalog) for one in rows for link in one.links}
    names = sorted({group for groups in known.values() for group in groups})
    place = {group: number for number, group in enumerate(names)}
    design = np.zeros((len(rows), len(names)))
    for number, one in enumerate(rows):
        for link in one.links:
            for group in known[link]:
                design[number, place[group]] += 1
    costs = -np.log(np.clip([one.score for one in rows], LOWEST, 1.0))
    columns = {kind: np.array([place[group] for group in names if group[0] == kind]) for kind in sorted({kind for kind, _ in names})}
    uses = np.array([float(len(one.links)) for one in rows])
    mean, effects, variances = _expectation_maximisation(uses, design, costs, columns)
    return RandomEffects(catalog, mean, {group: float(effects[place[group]]) for group in names}, variances)


def _expectation_maximisation(
    uses: "Array", design: "Array", costs: "Array", columns: "Mapping[str, Sequence[int] | Array]"
) -> "tuple[float, Array, dict[str, float]]":
    """Mean, effects and variances. `uses` (tasks,): links of each task; `design` (tasks, groups): how often its links are in each group."""
    import numpy as np

    spread = float(costs.var()) + 1e-3
    variances, noise = {kind: spread / (2 * len(columns)) for kind in columns}, spread / 2
    mean, effects = 0.0, np.zeros(design.shape[1])
    alike = {kind: design[:, of] @ design[:, of].T for kind, of in columns.items()}
    for _ in range(ROUNDS):
        covariance = noise * np.eye(len(costs)) + sum(variances[kind] * alike[kind] for kind in columns)
        inverse = np.linalg.inv(covariance)
        mean = max(float(uses @ inverse @ costs / (uses @ inverse @ uses)), 0.0)
        residual = inverse @ (costs - mean * uses)
        for kind, of in columns.items():
            variance = variances[kind]
            effects[of] = variance * design[:, of].T @ residual
            left = variance * len(of) - variance**2 * float(np.sum(inverse * alike[kind]))
            variances[kind] = max((float(effects[of] @ effects[of]) + left) / len(of), 1e-6)
        missed = costs - mean * uses - design @ effects
        noise = max((float(missed @ missed) + noise * (len(costs) - noise * float(np.trace(inverse)))) / len(costs), 1e-4)
    return mean, effects, variances
