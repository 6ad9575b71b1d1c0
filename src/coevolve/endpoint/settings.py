"""Settings of an endpoint: its address, its limits, its prices and the source of its key."""

import importlib.util
import ipaddress
import os
import re
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from attrs import field, frozen, validators

from coevolve import UserError

_BUDGET = re.compile(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?) ?(calls|tokens|cost)", re.IGNORECASE)


def read_budget(text: str) -> tuple[float, str] | None:
    """Amount and unit (calls, tokens, cost) of a budget; None for the empty text, which is no limit. Raises ValueError for other texts.

    >>> read_budget("1e6tokens")
    (1000000.0, 'tokens')
    """
    if not text:
        return None
    found = _BUDGET.fullmatch(text.strip())
    if found is None or float(found[1]) == float("inf"):
        raise ValueError(f"'budget' must look like 200calls, 1e6tokens or 5cost: '{text}'")
    amount, unit = float(found[1]), found[2].lower()
    if unit == "calls" and amount != int(amount):
        raise ValueError(f"'budget' must be a whole number where it is in calls: '{text}'")
    return amount, unit


def _budget(instance: object, attribute: object, value: str) -> None:
    read_budget(value)


def address(instance: object, attribute: object, value: str) -> None:
    """attrs validator of `base_url`: raises ValueError unless it is an http or https address without user, query or fragment."""
    try:
        parts = urlsplit(value)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("'base_url' must be an http or https address such as http://127.0.0.1:8080/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:  # the configuration is stored, so it must not hold a secret
        raise ValueError(
            "'base_url' must not hold a user, a password or a query; put the key into a variable (api_key_env) or a file (api_key_file)"
        )


def variable(instance: object, attribute: object, value: str) -> None:
    """attrs validator of `api_key_env`: raises ValueError unless it is empty or can be the name of an environment variable."""
    if value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):  # the value may be the key itself, so the error does not repeat it
        raise ValueError("'api_key_env' must be the name of an environment variable, never the key itself")


@frozen(kw_only=True)
class Access:
    """The address of an endpoint and the limits of one call. A subclass may set other defaults. `TABLE` is its table in a configuration."""

    TABLE: ClassVar[str] = "policy"

    model: str = field(default="gpt-4.1-mini", validator=validators.min_len(1))
    """The model's name at the endpoint."""
    base_url: str = field(default="https://api.openai.com/v1", validator=address)
    """Any endpoint that speaks OpenAI's chat completions."""
    api_key_env: str = field(default="OPENAI_API_KEY", validator=variable)
    """The environment variable that holds the key; "" for an endpoint that needs none. The key is never stored, logged or printed."""
    api_key_file: str = ""
    """File that holds the key; it is read where the variable is not set."""
    timeout: float = field(default=120.0, validator=[validators.gt(0.0), validators.le(1e6)])
    """Time limit of one whole call in seconds, also for a reply that arrives slowly."""
    retries: int = field(default=4, validator=[validators.ge(0), validators.le(20)])
    """Retries after a failed attempt, each after a longer wait with jitter; the endpoint's Retry-After is honoured."""


@frozen(kw_only=True)
class EndpointOptions(Access):
    """Options of a component that sends many requests to an endpoint at once."""

    concurrency: int = field(default=4, validator=validators.ge(1))
    """Calls that run at once."""
    requests_per_minute: int = field(default=0, validator=validators.ge(0))
    """Upper bound on the calls in any 60 seconds; 0: no limit."""
    budget: str = field(default="", validator=_budget)
    """Upper bound on spending, such as 200calls, 1e6tokens or 5cost (in the currency of the prices); "" for no limit."""
    input_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million prompt tokens, in any currency."""
    output_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million tokens of replies."""

    def __attrs_post_init__(self) -> None:
        budget = read_budget(self.budget)
        if budget and budget[1] == "cost" and not (self.input_price or self.output_price):
            raise ValueError(f"'budget' must be in calls or tokens where input_price and output_price are 0: {self.budget!r}")

    def cost(self, prompt: int, completion: int) -> float:
        """The cost of so many prompt and completion tokens, in the currency of the prices."""
        return (prompt * self.input_price + completion * self.output_price) / 1e6


def check_packages(who: str, extra: str, packages: Sequence[str] = ()) -> None:
    """Raise UserError where openai or one of `packages` is not installed. `who` needs them; the extra `extra` installs them."""
    missing = [name for name in ("openai", *packages) if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"{who} needs {', '.join(missing)}: pip install 'coevolve[{extra}]'")


def is_local(base_url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_key(options: Any) -> str | None:
    """The key, from the environment or the file; None where there is none. Raises ValueError, without the value, for an invalid key."""
    key = os.environ.get(options.api_key_env, "").strip() if options.api_key_env else ""
    if not key and options.api_key_file:
        try:
            key = Path(options.api_key_file).expanduser().read_text("utf-8-sig").strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not a text file, or not a valid path"
            raise ValueError(f"cannot read api_key_file {options.api_key_file}: {why}") from None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"the value in {key_source(options)} is not a key: it has spaces, line breaks or characters outside ASCII")
    return key or None


def key_source(options: Any) -> str:
    """The variable and the file that may hold the key, for error texts."""
    places = [f"the variable {options.api_key_env}"] * bool(options.api_key_env) + [f"the file {options.api_key_file}"] * bool(
        options.api_key_file
    )
    return " or ".join(places) or "no variable (api_key_env is empty)"


def missing_key(options: Any) -> str | None:
    """An error text in one line where the endpoint needs a key and there is none; else None."""
    if is_local(options.base_url) or not (options.api_key_env or options.api_key_file):
        return None
    try:
        found = read_key(options)
    except ValueError as error:
        return str(error)
    if found:
        return None
    return f"no key for {options.base_url}: set {key_source(options)}, or {options.TABLE}.api_key_env = '' where none is needed"


def tokens_of(value: Any) -> int:
    """Upper estimate of a text's tokens, from its UTF-8 bytes: 3 bytes a token (English has 4 to 5, dense code and Chinese about 3)."""
    return ceil(len(str(value).encode("utf-8", "replace")) / 3)
