import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve.plugins.validators.similarity import FILLERS, nearest, text_of

QUERY = "Please mail the report of March 3 to Ana and delete the draft"
CONTENT = ["mail", "report", "march", "3", "ana", "delete", "draft"]


def test_fillers_are_not_content_words() -> None:
    assert list(text_of(QUERY).content) == CONTENT


@pytest.mark.parametrize(
    "other",
    [
        "please MAIL the report of March 3 to Ana, and delete the draft!",
        "Could you mail the report of March 3 to Ana and then delete the draft?",
        "Mail report of March 3 to Ana; delete draft",
    ],
)
def test_courtesy_case_and_punctuation_do_not_matter(other: str) -> None:
    assert text_of(other).content == text_of(QUERY).content
    assert nearest(text_of(other), [text_of(QUERY)], 75) is not None


@pytest.mark.parametrize(
    "other",
    [
        "Please mail the report of March 3 to Ana and keep the draft",
        "Please mail the report of March 4 to Ana and delete the draft",
        "Please mail the report of March 3 to Ben and delete the draft",
        "Please mail the report of March 3 to Ana and do not delete the draft",
        "Please mail the report of March 3 from Ana and delete the draft",
    ],
)
def test_one_word_of_content_makes_another_task(other: str) -> None:
    assert text_of(other).bag != text_of(QUERY).bag


def test_another_order_of_words_gives_another_text_with_the_same_bag() -> None:
    there, back = text_of("Move 5 to savings, then rent"), text_of("Move 5 to rent, then savings")
    assert there.content != back.content and there.bag == back.bag


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(sorted(FILLERS)), max_size=4))
def test_fillers_case_and_punctuation_change_nothing(rng: random.Random, fillers: list[str]) -> None:
    words = []
    for word in CONTENT:
        words += [rng.choice(fillers)] if fillers and rng.random() < 0.5 else []
        words.append(rng.choice([word, word.upper(), f"{word},"]))
    assert list(text_of(" ".join(words)).content) == CONTENT


@given(st.text(max_size=60))
def test_any_text_can_be_read(query: str) -> None:
    text = text_of(query)
    assert text_of(text.plain).plain == text.plain
    assert set(text.bag) <= set(text.plain.split()) | {""}


def test_the_threshold_bounds_the_fillers() -> None:
    padded = text_of("hi please could you now just kindly then also thanks: delete the draft")
    assert nearest(padded, [text_of("delete draft")], 75) is None
    assert nearest(padded, [text_of("delete draft")], 10) is not None
