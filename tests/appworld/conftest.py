"""One set-up in the user's cache and one warm engine for all tests that need the real thing."""

from collections.abc import Iterator

import pytest

from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions

REAL_SECONDS = 1_800
"""For the tests with the real engine: the first of them may have to install it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "environment" in getattr(item, "fixturenames", ()) and item.path.parent.name == "appworld":
            item.add_marker(pytest.mark.timeout(REAL_SECONDS))


@pytest.fixture(scope="session")
def environment() -> Iterator[AppWorld]:
    """AppWorld over the tiny world; on a bare machine this installs the engine first, which takes minutes."""
    AppWorld.setup(data="tiny")
    made = AppWorld(AppWorldOptions(data="tiny", max_worlds=4))
    yield made
    made.close()
