"""The word-level tokenizer of the desk's policy: every tool, argument, value and word of the desk's requests is one token.

The chat template only appends: each message is its role's token, its text and `<end>`, so a longer conversation begins with the shorter
one. `<end>` closes every message and is the end-of-sequence token of a completion.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .calls import DONE
from .tools import ENTITIES, TOOLS
from .values import FORMS
from .wording import FRAMES, HELD_OUT_FRAMES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN, END = "<pad>", "<unk>", "<end>"
ROLES = ("system", "user", "assistant")
TEMPLATE = (
    "{% for message in messages %}{{ '<' + message['role'] + '>' + message['content'] + '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
_OBSERVATIONS = "ok error: this is no call wants unknown tool form cannot read"
_WORDING = "tell me as and it"
_PUNCTUATION = r"[.,?!](?=\s|$)"


def vocabulary() -> list[str]:
    """All tokens in the order of their ids."""
    special = [PAD, UNKNOWN, END, *(f"<{role}>" for role in ROLES)]
    arguments = [f"{a}=" for spec in TOOLS.values() for a in spec.arguments]
    values = [text for forms in FORMS.values() for texts in forms.values() for text in texts]
    words = [
        *_OBSERVATIONS.split(),
        *_WORDING.split(),
        *(n for names in ENTITIES.values() for n in names),
        *(form for forms in FORMS.values() for form in forms),
    ]
    words += [a.rstrip("=") for a in arguments]
    for text in (*FRAMES, *HELD_OUT_FRAMES, *(spec.phrase for spec in TOOLS.values())):
        words += re.findall(r"[.,?!]|[^\s.,?!]+", re.sub(r"\{\w+\}", " ", text))
    return list(dict.fromkeys([*special, *TOOLS, DONE, *arguments, "answer=", *values, *words]))


def make_tokenizer() -> "PreTrainedTokenizerFast":
    """A fast tokenizer that splits at spaces, after "=" and before a sentence's punctuation; decoding restores the text."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary())}, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s+"), "removed"),
            pre_tokenizers.Split("=", "merged_with_previous"),
            pre_tokenizers.Split(Regex(_PUNCTUATION), "isolated"),
        ]
    )
    joins = [decoders.Replace(before, after) for before, after in (("= ", "="), (" .", "."), (" ,", ","), (" ?", "?"))]
    inner.decoder = decoders.Sequence([decoders.WordPiece(prefix="##", cleanup=False), decoders.Fuse(), *joins])
    inner.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in (PAD, UNKNOWN, END, *(f"<{r}>" for r in ROLES))])
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner, pad_token=PAD, unk_token=UNKNOWN, eos_token=END, padding_side="left", model_max_length=512
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def encode_episode(
    tokenizer: "PreTrainedTokenizerFast", query: str, calls: Sequence[tuple[str, str]]
) -> tuple[list[int], list[int], list[range]]:
    """Token ids of a request and its calls with their observations, as the chat template gives them; the mask that is 1 where the
    assistant wrote; and each call's places, `<end>` included."""

    def encode(text: str) -> list[int]:
        return list(tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)

    user, assistant, end = encode(f"<user><assistant>{END}")
    tokens, places = [user, *encode(query), end], list[range]()
    for call, seen in calls:
        written = [*encode(call), end]
        places.append(range(len(tokens) + 1, len(tokens) + 1 + len(written)))
        tokens += [assistant, *written, *([user, *encode(seen), end] if seen else [])]
    mask = [0] * len(tokens)
    for place in places:
        mask[place.start : place.stop] = [1] * len(place)
    return tokens, mask, places
