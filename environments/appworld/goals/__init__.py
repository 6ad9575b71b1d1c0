"""What the users of AppWorld want: small functions that read a user's data, choose something to wish for, and say it as the user would.

Each module holds the goals of one app or of several together. A goal is registered with `@goal`; `goals_in` makes requests of them.
"""

from . import (
    across,
    alarms,
    contacts,
    errands,
    messages,
    music_changes,
    music_questions,
    notes,
    payment_requests,
    payments,
    projects,
    todos,
)
from .deal import goals_in
from .snapshot import Snapshots

MODULES = (across, music_changes, music_questions, notes, alarms, contacts, messages, payments, payment_requests, todos, projects, errands)
"""Every module that registers goals."""

__all__ = ["MODULES", "Snapshots", "goals_in"]
