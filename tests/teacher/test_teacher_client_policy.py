"""The policy in training as its own teacher."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from asked import ask, faults

from coevolve import InfrastructureFault, UserError
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher.faults import BudgetSpent, TeacherFault
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.teacher_client import TeacherClient


@attrs.define
class Echo:
    """optional.Chat."""

    answers: Mapping[str, str | None] = attrs.field(factory=dict)
    asked: list[tuple[str, float, int]] = attrs.field(factory=list)

    def __call__(self, key: str, messages: Any, temperature: float, max_new_tokens: int) -> str | None:
        self.asked.append((key, temperature, max_new_tokens))
        if key.endswith("fault"):
            raise InfrastructureFault("the engine\nis gone")
        return self.answers.get(key, f"{messages[0]['content']}!")


def test_the_policy_answers_within_the_same_budget_and_journal(open_journal: Callable[..., Any]) -> None:
    options = TeacherOptions(provider="policy", budget="2calls", temperature=0.5, max_tokens=9, concurrency=1)
    opened, chat = open_journal("first"), Echo()
    keys = ("1/a/0", "1/a/1", "1/a/2")
    found = ask(TeacherClient(options, opened.journal, chat), *keys)
    assert found[:2] == ["q 1/a/0!", "q 1/a/1!"] and isinstance(found[2], BudgetSpent)
    assert sorted(chat.asked) == [("1/a/0", 0.5, 9), ("1/a/1", 0.5, 9)]
    assert {(call.model, call.cost) for call in opened.journal.calls()} == {("policy", 0.0)} and opened.journal.calls()[0].tokens > 0
    again = ask(TeacherClient(options, open_journal("again", replay="first").journal, silent := Echo()), *keys)
    assert [str(one) for one in again] == [str(one) for one in found] and not silent.asked


def test_a_policy_that_cannot_answer_is_a_fault(journal: StoreJournal) -> None:
    chat = Echo({"1/a/0": None, "1/a/1": " "})
    found = ask(TeacherClient(TeacherOptions(provider="policy"), journal, chat), "1/a/0", "1/a/1", "1/a/fault")
    assert all(type(one) is TeacherFault for one in found) and len(chat.asked) == 3
    assert sorted(faults(journal)) == [
        "the policy cannot answer: the engine is gone",
        "the prompt leaves the policy no room to answer",
        "the reply is empty",
    ]


def test_without_a_policy_it_cannot_be_the_teacher(journal: StoreJournal) -> None:
    with pytest.raises(UserError, match="provider"):
        TeacherClient(TeacherOptions(provider="policy"), journal, None)
