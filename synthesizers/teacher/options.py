"""The teacher's options, the upper bound on its cost, and the check for its key."""

from math import ceil
from typing import ClassVar, Literal

from attrs import field, frozen, validators

from coevolve import endpoint
from coevolve.endpoint import EndpointOptions, address, read_budget, variable

PACKAGES = ("jsonschema",)
_DASHSCOPE = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"


@frozen(kw_only=True)
class TeacherOptions(EndpointOptions):
    """Options of the teacher, beside every endpoint's; its `concurrency` bounds explorations too, its `budget` is the whole run's."""

    TABLE: ClassVar[str] = "synthesizer"

    model: str = field(default="qwen3-max", validator=validators.min_len(1))
    """The teacher's name at the endpoint."""
    base_url: str = field(default=_DASHSCOPE, validator=address)
    """Any endpoint that speaks OpenAI's chat completions."""
    provider: Literal["endpoint", "policy"] = "endpoint"
    """Who answers: the endpoint, or the policy in training (then neither model, address nor key matter)."""
    api_key_env: str = field(default="DASHSCOPE_API_KEY", validator=variable)
    """Name of the environment variable that holds the key; "" for an endpoint that needs none. The key is never stored, logged or shown."""
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    """How replies are held to a JSON schema: OpenAI's json_schema, json_object with the schema beside it (llama.cpp), not at all; auto
    takes the first of these three that the endpoint accepts."""
    temperature: float = field(default=0.7, validator=[validators.ge(0.0), validators.le(2.0)])
    """Sampling temperature of the teacher."""
    max_tokens: int = field(default=1024, validator=validators.ge(1))
    """Tokens of one reply at most; asking again after a reply that cannot be read allows twice as many."""
    calls_per_evolution: int = field(default=0, validator=validators.ge(0))
    """Calls in one evolution at most; 0: no limit."""
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


def missing_key(options: TeacherOptions) -> str | None:
    """One line when the endpoint will need a key that is not there; None when all is well."""
    return None if options.provider == "policy" else endpoint.missing_key(options)


def call_cap(options: TeacherOptions) -> int | None:
    """The run's budget where it is in calls; None for other units and for no limit."""
    budget = read_budget(options.budget)
    return int(budget[0]) if budget and budget[1] == "calls" else None


def estimate(options: TeacherOptions, evolutions: int) -> str:
    """An upper bound on what `evolutions` cost, in one line."""
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
