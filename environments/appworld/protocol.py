"""The engine's ReAct-style protocol: the prompt, the one block of code of a turn, and the message with its output."""

from collections.abc import Mapping
from typing import Any

from coevolve import Message

MAX_CODE = 100_000
"""Characters of one block."""
FENCE = "```"
_SYSTEM = """You do tasks for {first_name} {last_name} (email {email}, phone number {phone_number}) by writing Python that calls apps.

Each of your turns is one block of code:
{fence}python
print(apis.api_docs.show_app_descriptions())
{fence}
The block is executed, and you are shown what it prints. Names stay defined from turn to turn. Only the first block of a turn counts.

Call apps as apis.APP.API(name=value). Look up what there is when you need it:
- apis.api_docs.show_app_descriptions(): the apps
- apis.api_docs.show_api_descriptions(app_name=...): an app's APIs
- apis.api_docs.show_api_doc(app_name=..., api_name=...): one API's parameters and answers
- apis.supervisor: the user's profile, passwords, addresses and payment cards. Apps with accounts need login(username=..., password=...), \
which gives an access_token for their other APIs.
Answers that come in pages have page_index; look at all pages where you need all.

The apps:
{apps}

It is {datetime}. When the task is done, call apis.supervisor.complete_task(), with answer=... where the task asks for something (just \
the name, number or date); with status="fail" where it cannot be done. You have {turns} turns and nobody to ask."""


def messages(about: Mapping[str, Any], turns: int) -> tuple[Message, ...]:
    """The first messages of an episode of `turns` turns; `about` is the value of the server's `open`."""
    apps = "\n".join(f"- {name}: {text}" for name, text in about["apps"].items())
    system = _SYSTEM.format(**about["supervisor"], fence=FENCE, apps=apps, datetime=about["datetime"], turns=turns)
    return ({"role": "system", "content": system}, {"role": "user", "content": about["instruction"]})


def code_of(text: str) -> str | None:
    """The first fenced block of a completion, closed or not; None when there is none, or it is empty or over MAX_CODE."""
    begin = text.find(FENCE)
    if begin < 0:
        return None
    language, newline, rest = text[begin + len(FENCE) :].partition("\n")
    if not newline or language.strip().lower() not in ("", "python", "py", "python3"):
        return None
    code = rest.partition(FENCE)[0].strip("\n")
    return code if code.strip() and len(code) <= MAX_CODE else None


def output_message(output: str) -> Message:
    """The message that answers a block of code with its output."""
    return {"role": "user", "content": f"Output:\n{FENCE}\n{output.rstrip()}\n{FENCE}"}


NO_CODE: Message = {
    "role": "user",
    "content": f"There was no code to execute. Write one block that begins with {FENCE}python and ends with {FENCE}.",
}
