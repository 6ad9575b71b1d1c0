"""Questions to the policy in training (services.Chat): the paper's arm in which the policy is its own teacher."""

import threading
from collections.abc import Sequence

from attrs import define, field

from ..contracts import Trainer
from ..errors import InfrastructureFault
from ..model import Message, Sampling, Task
from ..randomness import derive


@define
class PolicyChat:
    """Asks the policy as trained so far, one question at a time. Thread-safe."""

    trainer: Trainer
    environment: str
    seed: int
    _lock: threading.Lock = field(factory=threading.Lock)

    def __call__(self, key: str, messages: Sequence[Message], temperature: float, max_new_tokens: int) -> str | None:
        with self._lock:
            policy = self.trainer.policy()
            conversation = policy.begin(Task(f"chat {key}", self.environment, key), list(messages), None, 0)
            text = policy.complete([conversation], Sampling(temperature, max_new_tokens, derive(self.seed, "chat", key)))[0]
        if isinstance(text, InfrastructureFault):
            raise text
        return text
