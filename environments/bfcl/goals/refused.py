"""Results that report a failure in polite words."""

from collections.abc import Mapping
from typing import Any


def soft_failure(value: Any) -> bool:
    """Whether a result says that nothing was done: a status that is false, or a text such as "user not found".

    The benchmark itself counts such calls as successes, and some of its own tasks make them, so this holds for new turns only.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        return False
    return any(
        (name.endswith("status") or name in ("success", "verification_failure_reason")) and found is False for name, found in value.items()
    )
