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
    """Options of the teacher. `concurrency` bounds its explorations too; `budget` is for the whole run."""

    TABLE: ClassVar[str] = "synthesizer"

    model: str = field(default="qwen3-max", validator=validators.min_len(1))
    """The teacher's name at the endpoint."""
    base_url: str = field(default=_DASHSCOPE, validator=address)
    """Any endpoint that speaks OpenAI's chat completions."""
    provider: Literal["endpoint", "policy"] = "endpoint"
    """Who answers: the endpoint, or the policy in training (then model, address and key have no effect)."""
    api_key_env: str = field(default="DASHSCOPE_API_KEY", validator=variable)
    """The environment variable that holds the key; "" for an endpoint that needs none. The key is never stored, logged or printed."""
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    """How the endpoint enforces the JSON schema of a reply: json_schema (OpenAI), json_object with the schema beside it (llama.cpp), or not
    at all (none); auto uses the first of these three that the endpoint accepts."""
    temperature: float = field(default=0.7, validator=[validators.ge(0.0), validators.le(2.0)])
    """Sampling temperature of the teacher."""
    max_tokens: int = field(default=1024, validator=validators.ge(1))
    """Upper bound on the tokens of one reply; doubled for the request after an unreadable reply."""
    calls_per_evolution: int = field(default=0, validator=validators.ge(0))
    """Upper bound on the calls of one evolution; 0: no limit."""
    when_down: Literal["go_on", "stop"] = "go_on"
    """What to do when the endpoint stays down: train without evolution ("go_on"), or stop the run, which can be resumed ("stop")."""
    use_signals: bool = True
    """False: the teacher explores at random, without signals (the paper's third arm)."""
    explorations: int = field(default=8, validator=validators.ge(1))
    """Upper bound on the explorations of one evolution, one for each task with a signal. Synthetic initial tasks take one each."""
    rounds: int = field(default=2, validator=validators.ge(1))
    """Number of rounds in one exploration."""
    steps: int = field(default=8, validator=validators.ge(1))
    """Upper bound on the actions in one round; nine in ten of BFCL's own solutions have no more than 8."""
    candidates: int = field(default=3, validator=validators.ge(1))
    """Number of candidate tasks that one request asks for."""
    reasks: int = field(default=2, validator=[validators.ge(0), validators.le(10)])
    """Upper bound on the repetitions of a request after an unreadable reply."""
    queries: Literal["teacher", "environment"] = "teacher"
    """Who writes the users' requests: the teacher, or the environment from the solution."""
    repair: bool = True
    """Ask for another request or another task where a validator refuses a candidate; the new one is judged like any other."""
    context_chars: int = field(default=24_000, validator=validators.ge(6_000))
    """Upper bound on the characters of one prompt; a note in the prompt states how much was cut."""
    max_tools: int = field(default=40, validator=validators.ge(1))
    """Upper bound on the tools described in one prompt, the most relevant first; a note in the prompt counts the others."""


def missing_key(options: TeacherOptions) -> str | None:
    """An error text in one line where the endpoint needs a key and there is none; else None."""
    return None if options.provider == "policy" else endpoint.missing_key(options)


def call_cap(options: TeacherOptions) -> int | None:
    """The run's budget in calls; None where it has another unit or no limit."""
    budget = read_budget(options.budget)
    return int(budget[0]) if budget and budget[1] == "calls" else None


def estimate(options: TeacherOptions, evolutions: int, initial: int = 0, repairs: int = 1) -> str:
    """An upper bound on the calls, tokens and cost of so many evolutions, and of `initial` tasks before them (0: none), in one line.

    `repairs`: how often a refused candidate may go back to the teacher, one call each time.
    """
    explorations = evolutions * options.explorations + (max(initial, options.explorations) if initial else 0)
    requests = explorations * (2 + options.rounds * options.steps)
    repaired = explorations * options.candidates * repairs if options.repair else 0
    evolutions += 1 if initial else 0
    calls: float = requests * (1 + options.reasks) + repaired
    basis = f"{requests} requests, each repeated up to {options.reasks} times where its reply cannot be read"
    basis += f", and {repaired} to repair refused candidates" if repaired else ""
    if options.calls_per_evolution:
        calls = min(calls, evolutions * options.calls_per_evolution)
    budget = read_budget(options.budget)
    if budget and budget[1] == "calls":
        calls = min(calls, budget[0])
    room = options.max_tokens * (2 if options.reasks else 1)
    prompts, replies = calls * ceil(options.context_chars / 3), calls * room
    tokens, cost = prompts + replies, (prompts * options.input_price + replies * options.output_price) / 1e6
    if options.provider == "policy":
        return f"at most {calls:,.0f} calls of the policy in training, which cost only time ({basis})"
    if budget and budget[1] == "tokens":
        tokens = min(tokens, budget[0])
    if budget and budget[1] == "cost":
        cost = min(cost, budget[0])
    capped = f"; capped by the budget of {options.budget}" if budget else ""
    priced = f"cost {cost:,.2f}" if options.input_price or options.output_price else "cost unknown (input_price and output_price are 0)"
    return f"at most {calls:,.0f} calls, {tokens:,.0f} tokens, {priced} ({basis}; failed attempts are added){capped}"
