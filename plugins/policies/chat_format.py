"""Chat templates as append-only text: new token ids are appended to a conversation, and its earlier ids never change.

A later message is rendered after a stand-in conversation. The text after the stand-in's answer is the suffix to append. This is correct
only if the template renders earlier messages the same whatever follows, so any other template is refused when it is loaded.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from coevolve import UserError

# The answer holds reasoning, because templates that drop a part of earlier turns drop the reasoning.
_ANSWER = "<think>\nwhy\n</think>\n\nanswer-7041"
_ASKED: list[dict[str, Any]] = [{"role": "user", "content": "question-7041"}]
_ANSWERED = [*_ASKED, {"role": "assistant", "content": _ANSWER}]


class ChatFormat:
    """Token ids of prompts and of later messages, for one tokenizer. Raises UserError for a template that is not append-only."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer, self._name = tokenizer, name
        if not tokenizer.chat_template:
            raise UserError(
                f"model {name!r} has no chat template; choose an instruct model or set policy.chat_template to the file of a template"
            )
        # Cached, because the K rollouts of a task share their prompt and many observations.
        self._prompt = lru_cache(maxsize=1024)(self._prompt_ids)
        self._suffix = lru_cache(maxsize=8192)(self._suffix_ids)
        self._stand_in = lru_cache(maxsize=64)(self._stand_in_parts)
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

    def _prompt_ids(self, messages: str, tools: str) -> tuple[int, ...]:
        return tuple(self._encode(self._render(messages, tools, True)))

    def _suffix_ids(self, messages: str, tools: str) -> tuple[tuple[int, ...], int]:
        """The ids after the stand-in's answer, and the number of them that end its turn."""
        before, end = self._stand_in(tools)
        whole = self._render(_frozen([*_ANSWERED, *json.loads(messages)]), tools, True)
        if not whole.startswith(before):
            raise self._not_append_only("it changes an answer when other messages follow it")
        return tuple(self._encode(whole[end:])), len(self._encode(before[end:]))

    def _stand_in_parts(self, tools: str) -> tuple[str, int]:
        """The stand-in conversation, and the index at which its answer ends."""
        text = self._render(_frozen(_ANSWERED), tools, False)
        if _ANSWER not in text:
            raise self._not_append_only("it rewrites the assistant's text")
        return text, text.index(_ANSWER) + len(_ANSWER)

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: str, tools: str, generation: bool) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    json.loads(messages), tools=json.loads(tools), tokenize=False, add_generation_prompt=generation
                )
            )
        except Exception as error:  # a template is a program and may raise anything
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise UserError(f"the chat template of model {self._name!r} refuses the conversation ({why}); choose another model") from error

    def _check(self) -> None:
        """Check that each conversation renders to a prefix of the next longer one, generation prompt included where an answer follows."""
        talk = [*_ANSWERED, {"role": "user", "content": "question-7042"}, {"role": "assistant", "content": _ANSWER + "-7042"}]
        talk.append({"role": "user", "content": "question-7043"})
        for count in range(1, len(talk)):
            shorter = self._render(_frozen(talk[:count]), "null", talk[count]["role"] == "assistant")
            longer = self._render(_frozen(talk[: count + 1]), "null", False)
            if not longer.startswith(shorter):
                raise self._not_append_only(f"adding the message of role {talk[count]['role']!r} changes the text before it")
        self._stand_in("null")

    def _not_append_only(self, why: str) -> UserError:
        return UserError(
            f"the chat template of model {self._name!r} is not append-only ({why}), so trained tokens would differ from sampled ones; "
            "set policy.chat_template to the file of a template that keeps earlier turns as they are"
        )


def _frozen(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
