"""Suffixes must equal the text that the chat template renders."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevolve import Sampling, Task, UserError
from coevolve.plugins.policies.chat_format import ChatFormat
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

THINK_DROPPING = (
    "{% for message in messages %}<|{{ message['role'] }}|> "
    "{% if message['role'] == 'assistant' and not loop.last %}{{ message['content'].split('</think>')[-1] }}"
    "{% else %}{{ message['content'] }}{% endif %} <|end|> {% endfor %}{% if add_generation_prompt %}<|assistant|> {% endif %}"
)
COUNTING = "{{ messages | length }} " + (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)
text = st.lists(st.integers(0, 39), min_size=1, max_size=5).map(lambda ns: " ".join(f"w{n}" for n in ns))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text, st.lists(st.tuples(text, st.lists(st.tuples(st.sampled_from(["user", "tool"]), text), min_size=1, max_size=2)), max_size=4))
def test_suffixes_add_up_to_the_whole_rendering(tiny: Any, first: str, turns: list[tuple[str, list[tuple[str, str]]]]) -> None:
    tokenizer = tiny.tokenizer()
    chat = ChatFormat(tokenizer, "tiny")
    messages: list[dict[str, str]] = [{"role": "user", "content": first}]
    ids = list(chat.prompt(messages, None))
    for answer, observed in turns:
        ids += [*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id]
        new = [{"role": role, "content": content} for role, content in observed]
        ids += chat.suffix(new, None, ids[-1], True)
        messages += [{"role": "assistant", "content": answer}, *new]
    assert ids == list(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))


def test_an_answer_that_was_cut_off_is_closed_by_the_environment(tiny: Any) -> None:
    policy = TransformersPolicy.of(tiny.model(), tiny.tokenizer(), TransformersOptions())
    conversation = policy.begin(Task("t", "none", "q"), [{"role": "user", "content": "w1 w2"}], None, 0)
    policy.complete([conversation], Sampling(1.0, 1, 0))
    assert conversation.ids[-1] not in policy.eos
    conversation.observe([{"role": "tool", "content": "w5"}])
    assert policy.tokenizer.decode(conversation.ids[-5:]) == "<|end|> <|tool|> w5 <|end|> <|assistant|>"
    assert conversation.mask == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("template", [THINK_DROPPING, COUNTING])
def test_templates_that_rewrite_earlier_turns_are_refused(tiny: Any, template: str) -> None:
    with pytest.raises(UserError, match=r"chat template of model 'thinker' is not append-only .* set policy\.chat_template"):
        ChatFormat(tiny.tokenizer(template), "thinker")


def test_another_template_from_a_file(tiny: Any, tmp_path: Any) -> None:
    folder = tiny.save(tmp_path / "model", template=THINK_DROPPING)
    with pytest.raises(UserError, match="not append-only"):
        _ = TransformersPolicy(TransformersOptions(model=str(folder))).chat
    (tmp_path / "kept.jinja").write_text(tiny.TEMPLATE)
    assert TransformersPolicy(TransformersOptions(model=str(folder), chat_template=str(tmp_path / "kept.jinja"))).chat
    with pytest.raises(UserError, match=r"gone\.jinja' cannot be read"):
        _ = TransformersPolicy(TransformersOptions(model=str(folder), chat_template=str(tmp_path / "gone.jinja"))).chat


def test_no_template_and_a_template_that_raises(tiny: Any) -> None:
    with pytest.raises(UserError, match="has no chat template"):
        ChatFormat(tiny.tokenizer(""), "bare")
    refusing = "{% if messages[-1]['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}" + tiny.TEMPLATE
    with pytest.raises(UserError, match=r"refuses the conversation \(TemplateError: no tools here\)"):
        ChatFormat(tiny.tokenizer(refusing), "strict").suffix([{"role": "tool", "content": "w1"}], None, 0, False)


EOS_AT_THE_END = (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% else %}<pad>{% endif %}"
)
ONLY_LAST_IS_CHANGED = (
    "{% for message in messages %}<|{{ message['role'] }}|> "
    "{% if message['role'] == 'assistant' and loop.last %}<think> </think> {% endif %}{{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)
NO_ANSWER_AT_THE_END = "{% if messages[-1]['role'] == 'assistant' %}{{ raise_exception('no') }}{% endif %}" + (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


@pytest.mark.parametrize("template", [EOS_AT_THE_END, ONLY_LAST_IS_CHANGED, NO_ANSWER_AT_THE_END])
def test_templates_are_judged_by_what_rollouts_render(tiny: Any, template: str) -> None:
    tokenizer = tiny.tokenizer(template)
    chat = ChatFormat(tokenizer, "tiny")
    asked: list[dict[str, Any]] = [{"role": "user", "content": "w1"}]
    ids = [*chat.prompt(asked, None), *tokenizer.encode("w2 <|end|>")]
    ids += chat.suffix([{"role": "user", "content": "w3"}], None, ids[-1], True)
    whole = [*asked, {"role": "assistant", "content": "w2"}, {"role": "user", "content": "w3"}]
    assert ids == list(tokenizer.apply_chat_template(whole, add_generation_prompt=True, return_dict=False))


@pytest.mark.parametrize("name", ["phi3", "phi3_training", "phi3_5", "phi3_5_training"])
def test_templates_of_phi_are_append_only(tiny: Any, name: str) -> None:
    import trl

    text = (Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")
    assert ChatFormat(tiny.tokenizer(text), name).suffix_text([{"role": "user", "content": "w1"}], None).count("w1") == 1


def test_a_template_that_asks_for_the_date_gets_the_same_one_every_day(tiny: Any) -> None:
    dated = "{{ strftime_now('%d %B %Y') }} " + tiny.TEMPLATE
    assert ChatFormat(tiny.tokenizer(dated), "dated").prompt_text([{"role": "user", "content": "w1"}], None).startswith("01 January 2025 ")
