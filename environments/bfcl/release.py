"""The releases of the benchmark that can be used. Data and simulators differ between them, so every task names its release."""

from attrs import frozen


@frozen
class Release:
    """One wheel of `bfcl-eval` and how its data files are named."""

    version: str
    sha256: str
    prefix: str
    """Start of the data files' names."""
    early: bool = False
    """Whether its answers are read and its prompts written as before August 2025: all brackets and quotes around an answer are
    removed, one bad JSON text ends the whole answer, and function documents stand in prompts as Python writes them."""

    @property
    def requirement(self) -> str:
        """The line of a requirements file that pins the wheel by its hash."""
        return f"bfcl-eval=={self.version} --hash=sha256:{self.sha256}"

    def entries(self, category: str) -> str:
        """Path of a category's entries inside the package folder."""
        return f"data/{self.prefix}_multi_turn_{category}.json"

    def answers(self, category: str) -> str:
        """Path of a category's ground truths inside the package folder."""
        return f"data/possible_answer/{self.prefix}_multi_turn_{category}.json"


RELEASES = {
    release.version: release
    for release in (
        Release("2026.3.23", "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a", "BFCL_v4"),
        Release("2025.7.17", "1982d6804db2389d9f241d5ded49286ca47d9654fc518ea70857f5051217f88b", "BFCL_v3", early=True),
    )
}
"""The current release, and the last whose data files are named v3; about half of their entries differ."""
DEFAULT = "2026.3.23"
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
"""Variants of one set of 200 scenarios: as it is, with functions held out for a turn, with a request that lacks something for a
turn, and with large initial states."""
ABSTAINING = ("miss_func", "miss_param")
"""Categories in which a turn without a ground truth asks for something that cannot be done yet."""
SCORER = "1"
"""Version of the scorer: changes with every change of a score."""

CLASSES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""The simulated services by class, with the name of their module and of their file of function documents."""
