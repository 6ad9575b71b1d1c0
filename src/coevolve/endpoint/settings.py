"""Where an endpoint is, how it may be asked, what it may cost, and where its key comes from."""

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
    """Amount and unit (calls, tokens, cost); None for no limit; ValueError for other texts.

    >>> read_budget("1e6tokens")
    (1000000.0, 'tokens')
    """
    if not text:
        return None
    found = _BUDGET.fullmatch(text.strip())
    if found is None or float(found[1]) == float("inf"):
        raise ValueError(f"'budget' must be such as 200calls, 1e6tokens or 5cost: '{text}'")
    amount, unit = float(found[1]), found[2].lower()
    if unit == "calls" and amount != int(amount):
        raise ValueError(f"'budget' must be a whole number where it is in calls: '{text}'")
    return amount, unit


def _budget(instance: object, attribute: object, value: str) -> None:
    read_budget(value)


def address(instance: object, attribute: object, value: str) -> None:
    """An attrs validator of `base_url`."""
    try:
        parts = urlsplit(value)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("'base_url' must be an http or https address such as http://127.0.0.1:8080/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:  # the configuration is stored: it must hold nothing secret
        raise ValueError(
            "'base_url' must be an address alone, without user, password or query; the key has a variable or a file of its own"
        )


def variable(instance: object, attribute: object, value: str) -> None:
    """An attrs validator of `api_key_env`."""
    if value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):  # whoever puts the key itself here must not see it repeated
        raise ValueError("'api_key_env' must be the name of an environment variable, never the key itself")


@frozen(kw_only=True)
class Access:
    """Where an endpoint is and how one call of it is made; a subclass may set other defaults. `TABLE` is its place in a configuration."""

    TABLE: ClassVar[str] = "policy"

    model: str = field(default="gpt-4.1-mini", validator=validators.min_len(1))
    """The model's name at the endpoint."""
    base_url: str = field(default="https://api.openai.com/v1", validator=address)
    """Any endpoint that speaks OpenAI's chat completions."""
    api_key_env: str = field(default="OPENAI_API_KEY", validator=variable)
    """Name of the environment variable that holds the key; "" for an endpoint that needs none. The key is never stored, logged or shown."""
    api_key_file: str = ""
    """File that holds the key, read where the variable is not set."""
    timeout: float = field(default=120.0, validator=[validators.gt(0.0), validators.le(1e6)])
    """Seconds for one whole call, also for a reply that trickles."""
    retries: int = field(default=4, validator=[validators.ge(0), validators.le(20)])
    """Further attempts after one that failed, each after a longer wait with jitter; the endpoint's Retry-After is honoured."""


@frozen(kw_only=True)
class EndpointOptions(Access):
    """Options of a part that asks an endpoint many questions at once."""

    concurrency: int = field(default=4, validator=validators.ge(1))
    """Calls at once."""
    requests_per_minute: int = field(default=0, validator=validators.ge(0))
    """Calls in any 60 seconds at most; 0: no limit."""
    budget: str = field(default="", validator=_budget)
    """What may be spent: 200calls, 1e6tokens or 5cost (in the currency of the prices); "" for no limit."""
    input_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million prompt tokens, in any currency."""
    output_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million tokens of replies."""

    def __attrs_post_init__(self) -> None:
        budget = read_budget(self.budget)
        if budget and budget[1] == "cost" and not (self.input_price or self.output_price):
            raise ValueError(f"'budget' must be in calls or tokens where input_price and output_price are 0: {self.budget!r}")

    def cost(self, prompt: int, completion: int) -> float:
        """Of so many tokens, in the currency of the prices."""
        return (prompt * self.input_price + completion * self.output_price) / 1e6


def check_packages(who: str, extra: str, packages: Sequence[str] = ()) -> None:
    """UserError for an installation without the libraries that asking needs; `who` needs them, the extra `extra` brings them."""
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
    """The key, from the environment or the file; None where there is none. ValueError, which shows nothing of it, for one that is none."""
    key = os.environ.get(options.api_key_env, "").strip() if options.api_key_env else ""
    if not key and options.api_key_file:
        try:
            key = Path(options.api_key_file).expanduser().read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text, or no path"
            raise ValueError(f"cannot read api_key_file {options.api_key_file}: {why}") from None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"what {key_source(options)} holds is no key: it has spaces, line ends or letters that no key has")
    return key or None


def key_source(options: Any) -> str:
    """Where the key is looked for, in words."""
    places = [f"the variable {options.api_key_env}"] * bool(options.api_key_env) + [f"the file {options.api_key_file}"] * bool(
        options.api_key_file
    )
    return " or ".join(places) or "no variable (api_key_env is empty)"


def missing_key(options: Any) -> str | None:
    """One line when the endpoint will need a key that is not there; None when all is well."""
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
