"""Policy "transformers": samples from a local causal language model, token by token in lockstep.

    [policy]
    name = "transformers"
    model = "pkg:coevolve.environments.desk/policy"     # or a folder, a hub name, "smollm2-135m-instruct"
    device = "auto"
    dtype = "auto"
    max_context = 0

Sampled token ids and log-probabilities are stored as they were drawn; the environment's messages are appended as token suffixes.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from attrs import define, field, frozen
from attrs.validators import ge

from coevolve import Message, ModelSettings, Sampling, Task, Tokens, hookimpl


@frozen
class TransformersOptions:
    """The model, its device and its limits."""

    model: str = "pkg:coevolve.environments.desk/policy"
    """A folder of safetensors, a name on the hub, "pkg:PACKAGE/FOLDER" for a folder in a package, or "smollm2-135m-instruct"."""
    device: str = "auto"
    """A torch device; "auto" is the first GPU, else the CPU."""
    dtype: str = "auto"
    """"float32" or "bfloat16"; "auto" is bfloat16 on GPUs that have it, else float32 (bfloat16 is up to fifty times slower on CPUs)."""
    max_context: int = field(default=0, validator=ge(0))
    """Upper bound on the tokens of a whole conversation; 0 is the model's own limit."""
    chat_template: str = ""
    """File of a Jinja chat template to use instead of the model's; needed where the model's template rewrites earlier turns."""


@define(eq=False)
class TokenConversation:
    """An episode's messages and token ids. `ids` is the prompt and, from `prompt_length` on, the completion.

    `mask` (1: sampled, 0: appended) and `logprobs` (0.0 where appended) have one item for each id of the completion.
    """

    messages: list[Message]
    ids: list[int]
    row: int
    policy: "TransformersPolicy"
    tools: Sequence[dict[str, Any]] | None
    prompt_length: int
    mask: list[int] = field(factory=list)
    logprobs: list[float] = field(factory=list)
    cut: int = 0
    """Answers that ended without an end token: at the limit of tokens, or at the context's end."""

    @property
    def tokens(self) -> Tokens:
        """The token ids so far, with mask and log-probabilities."""
        ids = tuple(self.ids)
        return Tokens(ids[: self.prompt_length], ids[self.prompt_length :], tuple(self.mask), tuple(self.logprobs))

    def wrote(self, token: int, logp: float) -> None:
        """Append a sampled token."""
        self.ids.append(token)
        self.mask.append(1)
        self.logprobs.append(logp)

    def observe(self, messages: Sequence[Message]) -> None:
        """Append the environment's messages, and their token ids with mask 0."""
        self.messages.extend(messages)
        policy = self.policy
        added = policy.chat.suffix(messages, self.tools, self.ids[-1], self.ids[-1] in policy.eos)
        self.ids += added
        self.mask += [0] * len(added)
        self.logprobs += [0.0] * len(added)


class TransformersPolicy:
    """Samples from a local model, which is loaded when it is first needed. `path` and `tokenizer` do not load it. Not thread-safe."""

    name: ClassVar[str] = "transformers"
    Options: ClassVar[type[Any]] = TransformersOptions
    fixed_options: ClassVar[tuple[str, ...]] = ("model", "chat_template")

    quantize: str = ""
    """How `model` is loaded, see `load`. A trainer with frozen four-bit weights sets it, so that samples before training use them too."""

    def __init__(self, options: TransformersOptions) -> None:
        self.options = options

    @classmethod
    def of(cls, model: Any, tokenizer: Any, options: TransformersOptions) -> Self:
        """A policy that samples from the live model `model`: every update of its weights takes effect at once."""
        policy = cls(options)
        policy.tokenizer = tokenizer
        policy.model = model
        return policy

    def over(self, model: Any) -> Self:
        """A policy with the same options and tokenizer that samples from the live model `model`. A model that this one loaded is freed."""
        vars(self).pop("engine", None)
        vars(self).pop("model", None)
        return self.of(model, self.tokenizer, self.options)

    @cached_property
    def path(self) -> str:
        """The folder or hub name that `options.model` stands for. Raises UserError where there is none."""
        from .models import locate

        return locate(self.options.model)

    @cached_property
    def tokenizer(self) -> Any:
        from .models import load_tokenizer

        return load_tokenizer(self.path, self.options.chat_template)

    @cached_property
    def placement(self) -> tuple[str, Any]:
        """The device and the torch dtype that the model computes in."""
        from .models import device_and_dtype

        return device_and_dtype(self.options.device, self.options.dtype)

    def check(self) -> None:
        """Raise UserError for faults that can be found without loading the weights: of files, chat template or device."""
        from .end_tokens import check_end_ids
        from .models import check_config, check_layers
        from .saved_files import check_saving

        check_config(self.path, self.tokenizer)
        if self.name == TransformersPolicy.name:
            check_layers(self.path)
        check_saving(self.path, self.tokenizer)
        check_end_ids(self.path, self.tokenizer)
        _ = self.chat, self.placement

    def check_messages(
        self, openings: Sequence[tuple[Sequence[Message], Sequence[Mapping[str, Any]] | None]], replies: Sequence[Sequence[Message]]
    ) -> None:
        """Raise UserError where the chat template refuses or leaves out a part of what the environment says."""
        from .shown_messages import check_shown

        check_shown(self.chat, openings, replies)

    @property
    def model_settings(self) -> ModelSettings:
        """The settings that identify the model, as in the options."""
        return ModelSettings(self.options.model, self.options.max_context, self.options.dtype, self.options.device)

    def config_file(self) -> Path | None:
        """The model's config.json, found without network access; None where it is not on this machine.

        Raises UserError for an invalid name.
        """
        from .models import config_file

        return config_file(self.options.model)

    def skeleton(self) -> Any:
        """The model's modules without their weights."""
        from .models import skeleton

        return skeleton(self.path)

    def load(self, dtype: Any = None, quantize: str = "", device: str = "") -> Any:
        """A new copy of the model, with weights in `dtype` (None: that of `placement`) on `device` ("": that of `placement`).

        With `quantize` "4bit" the weights are frozen in four bits and the model computes in `dtype`. Raises UserError.
        """
        from .models import load_model

        own_device, own_dtype = self.placement
        return load_model(self.path, device or own_device, dtype or own_dtype, quantize)

    @cached_property
    def model(self) -> Any:
        return self.load(quantize=self.quantize)

    @cached_property
    def chat(self) -> Any:
        from .chat_format import ChatFormat

        return ChatFormat(self.tokenizer, self.options.model)

    @cached_property
    def eos(self) -> frozenset[int]:
        """Token ids that end a completion: the tokenizer's, those that the model declares, and the chat template's end of an answer."""
        from .end_tokens import end_ids

        return end_ids(self.tokenizer, getattr(self.model.generation_config, "eos_token_id", None), self.chat.end_token)

    @cached_property
    def engine(self) -> Any:
        from .lockstep import Lockstep

        dtype = self.placement[1]
        autocast = dtype if dtype != self.model.dtype else None
        return Lockstep(self.model, self.eos, self.tokenizer.pad_token_id, self.max_context, autocast)

    @cached_property
    def max_context(self) -> int:
        """The most tokens that a conversation may have: what the options ask for, within the model's own limit."""
        limit: int = getattr(self._config().get_text_config(), "max_position_embeddings", None) or 2048
        asked = self.options.max_context
        return min(asked, limit) if asked else limit

    def _config(self) -> Any:
        return self.model.config

    def provenance(self) -> dict[str, Any]:
        """What makes of messages what the model gets, and how it computes."""
        digest = hashlib.sha256(self.tokenizer.get_chat_template().encode()).hexdigest()[:12]
        return {
            "chat_template": f"{self.options.chat_template or 'of the model'} ({digest})",
            "dtype": str(self.placement[1]).removeprefix("torch."),
            "max_context": self.max_context,
            "end_tokens": " ".join(map(str, self.tokenizer.convert_ids_to_tokens(sorted(self.eos)))),
        }

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Any:
        """A new TokenConversation about `task` that opens with `messages`; `row` selects its random numbers. Raises UserError.

        The return type is Any because the contract's `tokens` can be assigned, and here it is computed.
        """
        ids = self.chat.prompt(messages, tools)
        return TokenConversation(list(messages), list(ids), row, self, tools, len(ids))

    def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
        """Sample each conversation's next completion, and return its text; None where the context has no room for a token.

        The end token is part of the conversation's tokens, but not of the text.
        """
        return self.complete_streaming(conversations, sampling, lambda n, text: None)

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]
    ) -> list[str | None]:
        """As `complete`; calls `on_completion(index, text)` when a text is complete."""
        numbers = {id(conversation): n for n, conversation in enumerate(conversations)}
        starts = [len(conversation.ids) for conversation in conversations]
        texts: list[str | None] = [None] * len(starts)

        def ended(conversation: Any) -> None:
            n = numbers[id(conversation)]
            conversation.cut += conversation.ids[-1] not in self.eos
            texts[n] = text = self.tokenizer.decode(conversation.ids[starts[n] :], skip_special_tokens=True)
            conversation.messages.append({"role": "assistant", "content": text})
            on_completion(n, text)

        self.engine.complete(conversations, sampling, ended)
        return texts

    def take_weights(self) -> None:
        """Do nothing: the policy samples from the live model itself."""

    def release(self) -> None:
        """Free the key-value cache; the model stays loaded."""
        if "engine" in self.__dict__:
            self.engine.release()


@hookimpl
def coevolve_policies() -> list[type[TransformersPolicy]]:
    return [TransformersPolicy]
