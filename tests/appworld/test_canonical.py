"""The canonical diff as a function of two states: what it must not see, and what it must."""

import copy
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve.environments.appworld.engine.canonical import compare, plain, text_of

Tables = dict[str, dict[int, dict[str, Any]]]
PLAYLIST, ENTRY, NOTICE = "music.Playlist", "music.Entry", "music.Notice"
NAMES = {model: {"playlist": PLAYLIST, "entry": ENTRY, "notice": NOTICE} for model in (PLAYLIST, ENTRY, NOTICE)}
LINKS = {NOTICE: {"subject_id": ENTRY}}
START: Tables = {
    PLAYLIST: {1: {"id": 1, "title": "Old", "rating": 0.0, "updated_at": "d1", "share_code": None, "record_hash": "a"}},
    ENTRY: {1: {"id": 1, "playlist_id": 1, "song": 7, "record_hash": "b"}},
    NOTICE: {},
}


def diff(after: Tables, before: Tables = START) -> dict[str, Any]:
    return compare(before, after, LINKS, NAMES)


class Store:
    """Rows with ids in the order of insertion, as a database gives them."""

    def __init__(self) -> None:
        self.tables = copy.deepcopy(START)
        self.last = {model: max(rows, default=0) for model, rows in self.tables.items()}

    def add(self, model: str, **fields: Any) -> int:
        self.last[model] += 1
        self.tables[model][self.last[model]] = {"id": self.last[model], "record_hash": f"h{self.last[model]}", **fields}
        return self.last[model]

    def playlist(self, title: str, songs: list[int], shuffle: random.Random) -> None:
        number = self.add(PLAYLIST, title=title, rating=0, updated_at="d2", share_code=f"{shuffle.random()}")
        for song in shuffle.sample(songs, len(songs)):
            entry = self.add(ENTRY, playlist_id=number, song=song)
            self.add(NOTICE, subject_id=entry, data={"playlist_id": number, "text": f"song {song}"})


PLAYLISTS = st.dictionaries(st.text(min_size=1, max_size=4), st.lists(st.integers(1, 9), unique=True, max_size=4), max_size=4)


@settings(deadline=None)
@given(PLAYLISTS, st.randoms(use_true_random=False))
def test_the_order_of_insertions_and_random_codes_do_not_matter(wanted: dict[str, list[int]], rng: random.Random) -> None:
    seen = set()
    for _ in range(3):
        store = Store()
        for title in rng.sample(sorted(wanted), len(wanted)):
            store.playlist(title, wanted[title], rng)
        seen.add(text_of(diff(store.tables)))
    assert len(seen) == 1
    assert (seen == {"{}"}) == (not wanted)


@settings(deadline=None)
@given(PLAYLISTS, PLAYLISTS, st.randoms(use_true_random=False))
def test_different_additions_give_different_diffs(one: dict[str, list[int]], other: dict[str, list[int]], rng: random.Random) -> None:
    texts = []
    for wanted in (one, other):
        store = Store()
        for title, songs in wanted.items():
            store.playlist(title, songs, rng)
        texts.append(text_of(diff(store.tables)))
    same = {title: sorted(songs) for title, songs in one.items()} == {title: sorted(songs) for title, songs in other.items()}
    assert (texts[0] == texts[1]) == same


@settings(deadline=None)
@given(PLAYLISTS, st.randoms(use_true_random=False))
def test_what_was_undone_is_no_change(wanted: dict[str, list[int]], rng: random.Random) -> None:
    store = Store()
    for title, songs in wanted.items():
        store.playlist(title, songs, rng)
    for model, rows in store.tables.items():
        for number in rows.keys() - START[model].keys():
            del rows[number]
    assert diff(store.tables) == {}


def test_a_row_removed_and_added_again_is_no_change() -> None:
    store = Store()
    row = store.tables[ENTRY].pop(1)
    assert diff(store.tables) == {ENTRY: {"added": [], "updated": {}, "removed": [1]}}
    store.add(ENTRY, **{field: value for field, value in row.items() if field not in ("id", "record_hash")})
    assert diff(store.tables) == {}


def test_only_as_many_rows_cancel_as_were_removed() -> None:
    store = Store()
    row = store.tables[ENTRY].pop(1)
    for _ in range(2):
        store.add(ENTRY, playlist_id=row["playlist_id"], song=row["song"])
    assert diff(store.tables) == {ENTRY: {"added": [{"playlist_id": 1, "song": 7}], "updated": {}, "removed": []}}


@settings(deadline=None)
@given(st.one_of(st.integers(-5, 5), st.floats(-5, 5, allow_nan=False), st.booleans()))
def test_numbers_are_equal_as_numbers(number: Any) -> None:
    store = Store()
    store.tables[PLAYLIST][1]["rating"] = number
    assert (diff(store.tables) == {}) == (round(number, 6) == 0)


def test_a_change_is_described_by_its_new_value_and_without_bookkeeping() -> None:
    store = Store()
    store.tables[PLAYLIST][1] |= {"title": "New", "updated_at": "d9", "record_hash": "z"}
    assert diff(store.tables) == {PLAYLIST: {"added": [], "updated": {"1": {"title": "New"}}, "removed": []}}
    store.tables[PLAYLIST][1]["title"] = "Old"
    assert diff(store.tables) == {}


def test_the_receiver_of_a_reference_matters() -> None:
    one, other = Store(), Store()
    one.add(ENTRY, playlist_id=1, song=3)
    other.add(ENTRY, playlist_id=other.add(PLAYLIST, title="New", rating=0, updated_at="d2", share_code=None), song=3)
    assert diff(one.tables)[ENTRY]["added"] == [{"playlist_id": 1, "song": 3}]
    assert diff(other.tables)[ENTRY]["added"][0]["playlist_id"]["new"]["title"] == "New"


def test_rows_that_refer_to_each_other_end() -> None:
    store = Store()
    number = store.add(PLAYLIST, title="Loop", rating=0, updated_at="d2", share_code=None, entry_ids=[2])
    store.add(ENTRY, playlist_id=number, song=1)
    found = diff(store.tables)
    assert found[PLAYLIST]["added"][0]["entry_ids"] == [{"new": {"playlist_id": {"new": PLAYLIST}, "song": 1}}]


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_plain_changes_nothing_twice(value: Any) -> None:
    assert plain(plain(value)) == plain(value)
    assert text_of(plain(value)) == text_of(value)
