"""Questions to a teacher that a test makes."""

import asyncio
from typing import Any

from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.teacher_client import TeacherClient

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


KEY = "sk-very-secret-0123456789"


def made(rude: Any, **settings: Any) -> TeacherOptions:
    return TeacherOptions(**{"model": "m", "base_url": rude.base_url, "api_key_env": "", "retries": 2, **settings})


def ask(client: TeacherClient, *keys: str, **more: Any) -> list[str | BaseException]:
    """The replies, or what was raised, of questions that are asked at once."""

    async def all_of_them() -> list[str | BaseException]:
        try:
            asked = [client.ask(key, int(key.split("/")[0]), "explore", [{"role": "user", "content": f"q {key}"}], **more) for key in keys]
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await client.aclose()

    return asyncio.run(all_of_them())


def one(client: TeacherClient, key: str = "1/explore/0", **more: Any) -> str:
    (found,) = ask(client, key, **more)
    if isinstance(found, BaseException):
        raise found
    return found


def faults(journal: StoreJournal) -> list[str]:
    return [(call.fault or "").partition("\n")[0] for call in journal.calls()]
