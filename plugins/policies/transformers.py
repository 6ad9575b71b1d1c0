"""Policy "transformers": samples from a local causal language model, token by token in lockstep.

    [policy]
    name = "transformers"
    model = "pkg:coevolve.environments.desk/policy"     # or a folder, a hub name, "smollm2-135m-instruct"
    device = "auto"
    dtype = "auto"
    max_context = 0

Sampled ids, masks and log-probabilities are kept as they were drawn; the environment's messages are appended as token suffixes.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from attrs import define, field, frozen
from attrs.validators import ge

from coevolve import Message, ModelSettings, Sampling, Task, Tokens, hookimpl


@frozen
class TransformersOptions:
    """Which model, and where it runs."""

    model: str = "pkg:coevolve.environments.desk/policy"
    """A folder of safetensors, a name on the hub, "pkg:PACKAGE/FOLDER" for a folder in a package, or "smollm2-135m-instruct"."""
    device: str = "auto"
    """A torch device; "auto" is the first GPU, else the CPU."""
    dtype: str = "auto"
    """"float32" or "bfloat16"; "auto" is bfloat16 on GPUs that have it, else float32 (slow CPUs lose fifty-fold with bfloat16)."""
    max_context: int = field(default=0, validator=ge(0))
    """Tokens of a whole conversation; 0 is the model's own limit."""
    chat_template: str = ""
    """File of a Jinja chat template to use instead of the model's; needed where that one rewrites earlier turns."""


@define(eq=False)
class TokenConversation:
    """An episode's messages and, beside them, its token ids as sampled. `ids` is the prompt followed by the completion."""

    messages: list[Message]
    ids: list[int]
    row: int
    policy: "TransformersPolicy"
    tools: Sequence[dict[str, Any]] | None
    prompt_length: int
    mask: list[int] = field(factory=list)
    logprobs: list[float] = field(factory=list)

    @property
    def tokens(self) -> Tokens:
        ids = tuple(self.ids)
        return Tokens(ids[: self.prompt_length], ids[self.prompt_length :], tuple(self.mask), tuple(self.logprobs))

    def wrote(self, token: int, logp: float) -> None:
        self.ids.append(token)
        self.mask.append(1)
        self.logprobs.append(logp)

    def observe(self, messages: Sequence[Message]) -> None:
        self.messages.extend(messages)
        policy = self.policy
        added = policy.chat.suffix(messages, self.tools, self.ids[-1], self.ids[-1] in policy.eos)
        self.ids += added
        self.mask += [0] * len(added)
        self.logprobs += [0.0] * len(added)


class TransformersPolicy:
    """Loads its model when it is first needed. `path` and `tokenizer` do not load it, so a trainer can load its own."""

    name: ClassVar[str] = "transformers"
    Options: ClassVar[type[Any]] = TransformersOptions
    fixed_options: ClassVar[tuple[str, ...]] = ("model", "chat_template")

    quantize: str = ""
    """How `model` is loaded, see `load`: a trainer that keeps its frozen weights in four bits has it sampled so before training too."""

    def __init__(self, options: TransformersOptions) -> None:
        self.options = options

    @classmethod
    def of(cls, model: Any, tokenizer: Any, options: TransformersOptions) -> Self:
        """A policy over a live model: what it samples follows every update of the weights."""
        policy = cls(options)
        policy.tokenizer = tokenizer
        policy.model = model
        return policy

    def over(self, model: Any) -> Self:
        """This policy with another model in it, a live one; its own, which an evaluation before training loads, is given back."""
        vars(self).pop("engine", None)
        vars(self).pop("model", None)
        return self.of(model, self.tokenizer, self.options)

    @cached_property
    def path(self) -> str:
        """The folder or hub name that `options.model` stands for; UserError when there is none."""
        from .models import locate

        return locate(self.options.model)

    @cached_property
    def tokenizer(self) -> Any:
        from .models import load_tokenizer

        return load_tokenizer(self.path, self.options.chat_template)

    @cached_property
    def placement(self) -> tuple[str, Any]:
        """Device and dtype that the model computes in."""
        from .models import device_and_dtype

        return device_and_dtype(self.options.device, self.options.dtype)

    def check(self) -> None:
        """Raise UserError for what can be told without loading the weights: files, chat template, device."""
        from .models import check_config

        check_config(self.path, self.tokenizer)
        _ = self.chat, self.placement

    @property
    def model_settings(self) -> ModelSettings:
        """Which model it is, as the options name it."""
        return ModelSettings(self.options.model, self.options.max_context, self.options.dtype, self.options.device)

    def config_file(self) -> Path | None:
        """The model's config.json, found without asking the network; None: it is not on this machine. UserError for an impossible name."""
        from .models import config_file

        return config_file(self.options.model)

    def skeleton(self) -> Any:
        """The model's modules without their weights."""
        from .models import skeleton

        return skeleton(self.path)

    def load(self, dtype: Any = None, quantize: str = "", device: str = "") -> Any:
        """Another copy of the model, with weights in `dtype` (None: the dtype that it computes in), on `device` ("": the one that it
        computes on); `quantize` "4bit" freezes them in four bits and computes in that dtype."""
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
        """Ids that end a completion: the tokenizer's and those that the model declares."""
        declared = getattr(self.model.generation_config, "eos_token_id", None)
        listed = [] if declared is None else [declared] if isinstance(declared, int) else list(declared)
        return frozenset([self.tokenizer.eos_token_id, *listed])

    @cached_property
    def engine(self) -> Any:
        from .lockstep import Lockstep

        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None) or 2048
        asked = self.options.max_context
        dtype = self.placement[1]
        autocast = dtype if dtype != self.model.dtype else None
        return Lockstep(self.model, self.eos, self.tokenizer.pad_token_id, min(asked, limit) if asked else limit, autocast)

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Any:
        """A TokenConversation. (As a type it would not do: the contract's `tokens` can be set, here it is computed.)"""
        ids = self.chat.prompt(messages, tools)
        return TokenConversation(list(messages), list(ids), row, self, tools, len(ids))

    def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
        """Sample each conversation's next completion up to an end token, which is part of its tokens but not of the text."""
        return self.complete_streaming(conversations, sampling, lambda n, text: None)

    def complete_streaming(self, conversations: Sequence[Any], sampling: Sampling, tell: Callable[[int, str], None]) -> list[str | None]:
        """As `complete`; each text is told as soon as it has ended."""
        numbers = {id(conversation): n for n, conversation in enumerate(conversations)}
        starts = [len(conversation.ids) for conversation in conversations]
        texts: list[str | None] = [None] * len(starts)

        def ended(conversation: Any) -> None:
            n = numbers[id(conversation)]
            texts[n] = text = self.tokenizer.decode(conversation.ids[starts[n] :], skip_special_tokens=True)
            conversation.messages.append({"role": "assistant", "content": text})
            tell(n, text)

        self.engine.complete(conversations, sampling, ended)
        return texts

    def take_weights(self) -> None:
        """Does nothing: it samples from the live model itself."""

    def release(self) -> None:
        """Give back what finished conversations hold; the model stays loaded."""
        if "engine" in self.__dict__:
            self.engine.release()


@hookimpl
def coevolve_policies() -> list[type[TransformersPolicy]]:
    """Register."""
    return [TransformersPolicy]
