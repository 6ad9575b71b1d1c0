"""What can be set about the teacher, what it may cost at most, and where its key comes from."""

import importlib.util
import ipaddress
import os
import re
from math import ceil
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from attrs import field, frozen, validators

from coevolve import UserError

PACKAGES = ("openai", "tenacity", "json_repair", "jsonschema")
_BUDGET = re.compile(r"(\d+(?:\.\d*)?(?:e\+?\d+)?) ?(calls|tokens|cost)", re.IGNORECASE)
_DASHSCOPE = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"


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
    return float(found[1]), found[2].lower()


def _budget(instance: object, attribute: object, value: str) -> None:
    read_budget(value)


def _url(instance: object, attribute: object, value: str) -> None:
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


def _variable(instance: object, attribute: object, value: str) -> None:
    if value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):  # whoever puts the key itself here must not see it repeated
        raise ValueError("'api_key_env' must be the name of an environment variable, never the key itself")


@frozen
class TeacherOptions:
    """Options of the teacher."""

    model: str = field(default="qwen3-max", validator=validators.min_len(1))
    """The model's name at the endpoint."""
    base_url: str = field(default=_DASHSCOPE, validator=_url)
    """Any endpoint that speaks OpenAI's chat completions."""
    provider: Literal["endpoint", "policy"] = "endpoint"
    """Who answers: the endpoint, or the policy in training (then neither model, address nor key matter)."""
    api_key_env: str = field(default="DASHSCOPE_API_KEY", validator=_variable)
    """Name of the environment variable that holds the key; "" for an endpoint that needs none. The key is never stored, logged or shown."""
    api_key_file: str = ""
    """File that holds the key, read where the variable is not set."""
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    """How replies are held to a JSON schema: OpenAI's json_schema, json_object with the schema beside it (llama.cpp), not at all; auto
    takes the first of these three that the endpoint accepts."""
    temperature: float = field(default=0.7, validator=[validators.ge(0.0), validators.le(2.0)])
    """Sampling temperature of the teacher."""
    max_tokens: int = field(default=1024, validator=validators.ge(1))
    """Tokens of one reply at most; asking again after a reply that cannot be read allows twice as many."""
    timeout: float = field(default=120.0, validator=validators.gt(0.0))
    """Seconds for one whole call, also for a reply that trickles."""
    retries: int = field(default=4, validator=[validators.ge(0), validators.le(20)])
    """Further attempts after one that failed, each after a longer wait with jitter; the endpoint's Retry-After is honoured."""
    concurrency: int = field(default=4, validator=validators.ge(1))
    """Explorations and calls at once."""
    requests_per_minute: int = field(default=0, validator=validators.ge(0))
    """Calls in any 60 seconds at most; 0: no limit."""
    budget: str = field(default="", validator=_budget)
    """What the whole run may spend: 200calls, 1e6tokens or 5cost (in the currency of the prices); "" for no limit."""
    calls_per_evolution: int = field(default=0, validator=validators.ge(0))
    """Calls in one evolution at most; 0: no limit."""
    input_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million prompt tokens, in any currency."""
    output_price: float = field(default=0.0, validator=validators.ge(0.0))
    """Cost of a million tokens of replies."""
    when_down: Literal["go_on", "stop"] = "go_on"
    """What an endpoint that stays down means: training without evolution, or a stop that `coevolve resume` goes on from."""
    use_signals: bool = True
    """False: the teacher explores at random, without signals (the paper's third arm)."""
    explorations: int = field(default=8, validator=validators.ge(1))
    """Explorations in one evolution at most, one for each task with a signal."""
    rounds: int = field(default=2, validator=validators.ge(1))
    """Rounds of one exploration."""
    steps: int = field(default=6, validator=validators.ge(1))
    """Actions in one round at most."""
    candidates: int = field(default=3, validator=validators.ge(1))
    """Candidate tasks asked for in one reply."""
    reasks: int = field(default=2, validator=[validators.ge(0), validators.le(10)])
    """Times that a reply which cannot be read is asked for again."""
    queries: Literal["teacher", "environment"] = "teacher"
    """Who words the requests: the teacher, or the environment from the solution."""
    context_chars: int = field(default=24_000, validator=validators.ge(6_000))
    """Characters of one prompt at most; what is cut away is said in it."""
    max_tools: int = field(default=40, validator=validators.ge(1))
    """Tools described in one prompt at most, the most relevant ones; how many are left out is said in it."""

    def __attrs_post_init__(self) -> None:
        if self.budget.endswith("cost") and not (self.input_price or self.output_price):
            raise ValueError("'budget' must be in calls or tokens where input_price and output_price are 0: nothing costs anything then")


def check_packages() -> None:
    """UserError for an installation without the teacher's libraries."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"synthesizer 'teacher' needs {', '.join(missing)}: pip install 'coevolve[teacher]'")


def is_local(base_url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_key(options: TeacherOptions) -> str | None:
    """The key, from the environment or the file; None where there is none. ValueError, which shows nothing of it, for one that is none."""
    key = os.environ.get(options.api_key_env, "").strip() if options.api_key_env else ""
    if not key and options.api_key_file:
        try:
            key = Path(options.api_key_file).expanduser().read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise ValueError(f"cannot read api_key_file {options.api_key_file}: {why}") from None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"what {key_source(options)} holds is no key: it has spaces, line ends or letters that no key has")
    return key or None


def key_source(options: TeacherOptions) -> str:
    """Where the key is looked for, in words."""
    places = [f"the variable {options.api_key_env}"] * bool(options.api_key_env) + [f"the file {options.api_key_file}"] * bool(
        options.api_key_file
    )
    return " or ".join(places) or "no variable (api_key_env is empty)"


def missing_key(options: TeacherOptions) -> str | None:
    """One line when the endpoint will need a key that is not there; None when all is well."""
    if options.provider == "policy" or is_local(options.base_url) or not (options.api_key_env or options.api_key_file):
        return None
    try:
        found = read_key(options)
    except ValueError as error:
        return str(error)
    if found:
        return None
    return f"no key for {options.base_url}: set {key_source(options)}, or synthesizer.api_key_env = '' where none is needed"


def call_cap(options: TeacherOptions) -> int | None:
    """The run's budget where it is in calls; None for other units and for no limit."""
    budget = read_budget(options.budget)
    return int(budget[0]) if budget and budget[1] == "calls" else None


def tokens_of(value: Any) -> int:
    """Upper estimate of a text's tokens, from its UTF-8 bytes: 3 bytes a token (English has 4 to 5, dense code and Chinese about 3)."""
    return ceil(len(str(value).encode("utf-8", "replace")) / 3)


def estimate(options: TeacherOptions, evolutions: int) -> str:
    """In one line, what `evolutions` take at most."""
    requests = evolutions * options.explorations * (2 + options.rounds * options.steps)
    calls: float = requests * (1 + options.reasks)
    said = f"{requests} requests, each asked again up to {options.reasks} times where its reply cannot be read"
    if options.calls_per_evolution:
        calls = min(calls, evolutions * options.calls_per_evolution)
    budget = read_budget(options.budget)
    if budget and budget[1] == "calls":
        calls = min(calls, budget[0])
    room = options.max_tokens * (2 if options.reasks else 1)
    prompts, replies = calls * ceil(options.context_chars / 3), calls * room
    tokens, cost = prompts + replies, (prompts * options.input_price + replies * options.output_price) / 1e6
    if options.provider == "policy":
        return f"at most {calls:,.0f} calls of the policy in training, which cost time alone ({said})"
    if budget and budget[1] == "tokens":
        tokens = min(tokens, budget[0])
    if budget and budget[1] == "cost":
        cost = min(cost, budget[0])
    capped = f"; capped by the budget of {options.budget}" if budget else ""
    priced = f"cost {cost:,.2f}" if options.input_price or options.output_price else "cost unknown (input_price and output_price are 0)"
    return f"at most {calls:,.0f} calls, {tokens:,.0f} tokens, {priced} ({said}; failed attempts count besides){capped}"
