"""Draws are functions of the seed, the purpose and the iteration."""

from coevolve.core.randomness import derive, generator


def test_purposes_do_not_share_draws() -> None:
    seeds = {derive(s, purpose, i) for s in range(3) for purpose in ("sampler", "rollout") for i in range(50)}
    assert len(seeds) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_generator_can_be_made_again() -> None:
    assert generator(1, "x", 2).random() == generator(1, "x", 2).random() != generator(1, "x", 3).random()
