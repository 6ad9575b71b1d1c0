"""Chat templates as append-only text: new token ids are appended to a conversation, and its earlier ids never change.

A later message is rendered after a stand-in conversation. The text after the stand-in's answer is the suffix to append. This is correct
only if the template renders earlier messages the same whatever follows, so any other template is refused when it is loaded. Only what
rollouts use is judged: renderings that end with the generation prompt.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile
from typing import Any

from coevolve import UserError, one_line

# The answer holds reasoning, because templates that drop a part of earlier turns drop the reasoning.
_ANSWER = "<think>\nwhy\n</think>\n\nanswer-7041"
_ASKED: list[dict[str, Any]] = [{"role": "user", "content": "question-7041"}]
_ANSWERED = [*_ASKED, {"role": "assistant", "content": _ANSWER}]
_TODAY = (
    "{% macro strftime_now(format) %}{{ format"
    + "".join(f".replace('%{sign}', '{datetime(2025, 1, 1).strftime('%' + sign)}')" for sign in "aAbBcdDeFHIjmMpSTuwxXyYZ")
    + " }}{% endmacro %}{{ '' }}"
)
"""Gives templates that ask for the date always the same one: with the true one, a run's prompts would change overnight."""
OTHER = "set policy.chat_template to the file of another template"
"""What to do about a template that cannot be used."""


class ChatFormat:
    """Token ids of prompts and of later messages, for one tokenizer. Raises UserError for a template that is not append-only."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer, self.name = tokenizer, name
        if not tokenizer.chat_template:
            raise UserError(
                f"model {name!r} has no chat template; choose an instruct model or set policy.chat_template to the file of a template"
            )
        dated = "strftime_now" in str(tokenizer.chat_template)
        self._template = _TODAY + tokenizer.get_chat_template() if dated else None
        # Cached, because the K rollouts of a task share their prompt and many observations.
        self._prompt = lru_cache(maxsize=1024)(self._prompt_ids)
        self._suffix = lru_cache(maxsize=8192)(self._suffix_ids)
        self._closing = lru_cache(maxsize=64)(self._closing_ids)
        self._check()

    def prompt(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> tuple[int, ...]:
        """Token ids of the first messages and the generation prompt. Raises UserError where the template refuses the messages."""
        return self._prompt(_frozen(messages), _frozen(tools))

    def suffix(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None, last: int, ended: bool) -> list[int]:
        """Token ids to append to a sampled answer: the end of its turn, `messages`, and the next generation prompt.

        `last` is the answer's last id. Where it is an end token (`ended`), the end of the turn up to and including that token is left out.
        """
        ids, closing = self._suffix(_frozen(messages), _frozen(tools))
        if ended and last in ids[:closing]:
            return list(ids[ids.index(last) + 1 :])
        return list(ids)

    def prompt_text(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> str:
        """The text whose ids `prompt` gives."""
        return self._render(_frozen(messages), _frozen(tools), True)

    def suffix_text(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> str:
        """The text after an answer up to the next one: the end of its turn, `messages`, and the generation prompt."""
        return self._after_answer(_frozen(messages), _frozen(tools))

    @cached_property
    def end_token(self) -> int | None:
        """The special token with which the template closes an answer, or else begins what follows one; None where it uses none."""
        closing = self._closing("null") or tuple(self._encode(self._after_answer(_frozen([{"role": "user", "content": "q"}]), "null")))
        seen = [token for token in closing if self._tokenizer.decode([token]).strip()]
        tokenizer = self._tokenizer
        special = {*tokenizer.all_special_ids, *(token for token, text in tokenizer.added_tokens_decoder.items() if text.special)}
        special -= {tokenizer.bos_token_id, tokenizer.unk_token_id} - {tokenizer.eos_token_id}
        return seen[0] if seen and seen[0] in special else None

    def _prompt_ids(self, messages: str, tools: str) -> tuple[int, ...]:
        return tuple(self._encode(self._render(messages, tools, True)))

    def _suffix_ids(self, messages: str, tools: str) -> tuple[tuple[int, ...], int]:
        """The ids after the stand-in's answer, and the number of them that end its turn."""
        ids = tuple(self._encode(self._after_answer(messages, tools)))
        closing = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, self._closing(tools), strict=False)))
        return ids, closing or int(ids[:1] == (self.end_token,))

    def _after_answer(self, messages: str, tools: str) -> str:
        before = self._render(_frozen(_ASKED), tools, True)
        whole = self._render(_frozen([*_ANSWERED, *json.loads(messages)]), tools, True)
        if not whole.startswith(before):
            raise self._not_append_only("it changes the text before an answer when other messages follow it")
        if (start := whole.find(_ANSWER, len(before))) < 0:
            raise self._not_append_only("it rewrites the assistant's text")
        return whole[start + len(_ANSWER) :]

    def _closing_ids(self, tools: str) -> tuple[int, ...]:
        """The ids after an answer that nothing follows; empty for a template that does not render one as it is."""
        try:
            text = self._render(_frozen(_ANSWERED), tools, False)
        except UserError:  # no rollout renders this
            return ()
        start = text.rfind(_ANSWER)
        return () if start < 0 else tuple(self._encode(text[start + len(_ANSWER) :]))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: str, tools: str, generation: bool) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    json.loads(messages),
                    tools=json.loads(tools),
                    tokenize=False,
                    add_generation_prompt=generation,
                    chat_template=self._template,
                )
            )
        except Exception as error:  # a template is a program and may raise anything
            why = f"{type(error).__name__}: {one_line(error, 200)}"
            roles = ", ".join(str(message.get("role")) for message in json.loads(messages))
            raise UserError(
                f"the chat template of model {self.name!r} refuses the conversation ({why}) with messages of the roles {roles}: "
                f"choose another model, or {OTHER}"
            ) from error

    def _check(self) -> None:
        """Check that each prompt with its answer is a prefix of the next prompt."""
        talk = [*_ANSWERED, {"role": "user", "content": "question-7042"}, {"role": "assistant", "content": _ANSWER + "-7042"}]
        talk.append({"role": "user", "content": "question-7043"})
        prompts = [self._render(_frozen(talk[:count]), "null", True) for count in (1, 3, 5)]
        for shorter, longer in pairwise(prompts):
            if not longer.startswith(shorter):
                raise self._not_append_only("adding an answer and a message of role 'user' changes the text before it")
            if _ANSWER not in longer[len(shorter) :]:
                raise self._not_append_only("it rewrites the assistant's text")

    def _not_append_only(self, why: str) -> UserError:
        return UserError(
            f"the chat template of model {self.name!r} is not append-only ({why}), so trained tokens would differ from sampled ones; "
            "set policy.chat_template to the file of a template that keeps earlier turns as they are"
        )


def _frozen(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
