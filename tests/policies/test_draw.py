"""Counter-based uniforms and the inverse distribution."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve.plugins.policies.draw import draw, uniforms


@settings(deadline=None)
@given(
    st.integers(0, 2**64 - 1), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), min_size=1, max_size=5), st.integers(1, 9)
)
def test_a_number_belongs_to_seed_row_and_token(seed: int, places: list[tuple[int, int]], count: int) -> None:
    rows, starts = zip(*places, strict=True)
    numbers = uniforms(seed, rows, starts, count)
    assert numbers.shape == (len(rows), count) and bool((numbers >= 0).all()) and bool((numbers < 1).all())
    for n, (row, start) in enumerate(places):
        assert torch.equal(uniforms(seed, [row], [start], count)[0], numbers[n])
        assert uniforms(seed, [row], [start + count - 1], 1).item() == numbers[n, -1].item()


def test_numbers_are_uniform_and_unrelated() -> None:
    numbers = uniforms(7, range(300), [0] * 300, 200).numpy()
    counts = np.histogram(numbers, bins=50, range=(0, 1))[0]
    expected = numbers.size / 50
    assert ((counts - expected) ** 2 / expected).sum() < 95  # chi-square with 49 degrees of freedom, p about 1e-4
    for other in (numbers[:, 1:], np.roll(numbers, 1, axis=0)[:, 1:], uniforms(8, range(300), [0] * 300, 200).numpy()[:, 1:]):
        assert abs(np.corrcoef(numbers[:, :-1].ravel(), other.ravel())[0, 1]) < 0.02
    assert len(np.unique(numbers)) > 0.999 * numbers.size


@settings(deadline=None)
@given(st.lists(st.floats(-8, 8), min_size=2, max_size=9), st.floats(0, 1, exclude_max=True), st.sampled_from([0.5, 1.0, 2.0]))
def test_draw_inverts_the_distribution(logits: list[float], uniform: float, temperature: float) -> None:
    tokens, logps = draw(torch.tensor([logits]), torch.tensor([uniform], dtype=torch.float64), temperature)
    p = np.exp(np.array(logits) / temperature)
    p /= p.sum()
    token = int(tokens)
    assert p[:token].sum() - 1e-6 <= uniform <= p[: token + 1].sum() + 1e-6
    assert abs(logps.item() - np.log(p[token])) < 1e-5


def test_impossible_tokens_are_never_drawn() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]).repeat(5, 1)
    edges = torch.tensor([0.0, 0.25, 0.5, 0.75, 1 - 2**-32], dtype=torch.float64)
    assert draw(logits, edges, 1.0)[0].tolist() == [1, 1, 3, 3, 3]
