"""What an environment says must be in what the chat template renders, before the first rollout."""

from typing import Any

import pytest

from coevolve import UserError
from coevolve.plugins.policies.chat_format import ChatFormat
from coevolve.plugins.policies.shown_messages import check_shown

START = "{% if add_generation_prompt %}<|assistant|> {% endif %}"
ONE = "<|{{ message['role'] }}|> {{ message['content'] }} <|end|> "
KNOWN_ROLES = "{% for message in messages %}{% if message['role'] in ('system', 'user', 'assistant') %}" + ONE + "{% endif %}{% endfor %}"
LAST_OF_ROW = (
    "{% for message in messages %}{% if loop.last or message['role'] != messages[loop.index]['role'] %}" + ONE + "{% endif %}{% endfor %}"
)
WITHOUT_SYSTEM = "{% for message in messages %}{% if message['role'] != 'system' %}" + ONE + "{% endif %}{% endfor %}"
STRINGS = "{% for message in messages %}{% if message['content'] is string %}" + ONE + "{% endif %}{% endfor %}"
ALTERNATING = (
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}" + ONE + "{% endfor %}"
)
ALL = "{% for message in messages %}" + ONE + "{% endfor %}"
NAMES = "{% for tool in tools or () %}{{ tool.function.name }} {% endfor %}" + ALL
WHOLE = "{% for tool in tools or () %}{{ tool | tojson }} {% endfor %}" + ALL

USER = [{"role": "user", "content": "w1"}]
SYSTEM = [{"role": "system", "content": "w0"}, *USER]
RESULT = [{"role": "tool", "name": "f", "content": "w2"}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "w3"}]}]
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]}},
}


def check(tiny: Any, template: str, opening: Any = USER, tools: Any = None, reply: Any = USER) -> None:
    check_shown(ChatFormat(tiny.tokenizer(template + START), "tiny"), [(opening, tools)], [reply])


@pytest.mark.parametrize(
    ("template", "said", "lost"),
    [
        (KNOWN_ROLES, {"reply": RESULT}, "the content of messages of role 'tool'. Let the environment say it in user messages"),
        (KNOWN_ROLES, {"opening": [*USER, {"role": "developer", "content": "w4"}]}, "the content of messages of role 'developer'"),
        (LAST_OF_ROW, {"reply": RESULT}, "the content of messages of role 'tool' (2 messages in a row)"),
        (LAST_OF_ROW, {"reply": [*USER, *USER]}, "the content of messages of role 'user' (2 messages in a row)"),
        (WITHOUT_SYSTEM, {"opening": SYSTEM}, "the content of messages of role 'system'"),
        (STRINGS, {"opening": PARTS}, "the content.text of messages of role 'user'"),
        (ALL, {"opening": [{**USER[0], "page": "w5"}]}, "the page of messages of role 'user'"),
        (ALL, {"tools": [TOOL]}, "the name of the tools; the description of the tools; the parameters of the tools. Let the environment"),
        (NAMES, {"tools": [TOOL]}, ": the description of the tools; the parameters of the tools. "),
    ],
)
def test_what_a_template_leaves_out_is_one_line(tiny: Any, template: str, said: dict[str, Any], lost: str) -> None:
    with pytest.raises(UserError) as caught:
        check(tiny, template, **said)
    assert lost in str(caught.value) and "\n" not in str(caught.value)
    assert "set policy.chat_template" in str(caught.value)


@pytest.mark.parametrize("said", [{"opening": SYSTEM}, {"reply": RESULT}, {"reply": [*USER, *USER]}])
def test_a_template_that_raises_is_one_line(tiny: Any, said: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"refuses the conversation \(TemplateError: roles must alternate\).*the environment's") as caught:
        check(tiny, ALTERNATING, **said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (ALTERNATING, {}),
        (KNOWN_ROLES, {"opening": SYSTEM}),
        (WITHOUT_SYSTEM, {"reply": RESULT}),
        (STRINGS, {"reply": RESULT}),
        (WHOLE, {"opening": SYSTEM, "tools": [TOOL], "reply": [*RESULT, *RESULT, *USER]}),
    ],
)
def test_what_the_environment_does_not_say_needs_no_place(tiny: Any, template: str, said: dict[str, Any]) -> None:
    check(tiny, template, **said)
