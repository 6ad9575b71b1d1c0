"""Files that users write: UTF-8 whatever the locale, with or without a byte order mark, and one clear line for other encodings."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from coevolve import Task, UserError, read_text
from coevolve.core.judging.sample import FORMAT, drawn, export, read_lines, read_sample
from coevolve.core.record.store import to_json
from coevolve.core.settings.sources import read_file
from coevolve.endpoint import Access, read_key
from coevolve.environments.desk.environment import Desk, DeskOptions
from coevolve.plugins.policies.models import load_tokenizer, locate
from coevolve.plugins.policies.transformers import TransformersOptions

MARK = "\ufeff"


@pytest.mark.parametrize("mark", ["", MARK], ids=["plain", "marked"])
def test_a_byte_order_mark_is_not_part_of_what_is_read(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text(f'{mark}name = "größe"\n', "utf-8")
    assert read_text(file) == 'name = "größe"\n'
    assert read_file(file) == {"name": "größe"}
    file.write_text(f'{mark}{{"name": "größe"}}\n', "utf-8")
    assert read_lines(file) == [(1, {"name": "größe"})]
    file.write_text(f"{mark}secret-7041\n", "utf-8")
    assert read_key(Access(api_key_env="", api_key_file=str(file))) == "secret-7041"


def test_a_file_in_another_encoding_is_named_with_the_fix(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    for encoding in ("utf-16", "latin-1"):
        file.write_text('{"name": "größe"}', encoding)
        with pytest.raises(UserError, match=r"mine.*save it in the encoding UTF-8"):
            read_file(file)
        with pytest.raises(UserError, match=r"mine.*save it in the encoding UTF-8"):
            read_lines(file)


def test_a_chat_template_is_the_same_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file of the user's, and in the model's own folder, where the library leaves the mark in place."""
    folder = locate(TransformersOptions().model)
    own = load_tokenizer(folder)
    marked = tmp_path / "marked.jinja"
    marked.write_text(MARK + own.chat_template, "utf-8")
    given = load_tokenizer(folder, str(marked))
    assert given.chat_template == own.chat_template and MARK not in own.chat_template
    given.chat_template = MARK + own.chat_template
    given.save_pretrained(tmp_path / "saved")
    again: Any = load_tokenizer(str(tmp_path / "saved"))
    assert again.chat_template == own.chat_template


def test_line_separators_in_a_task_do_not_break_its_file(tmp_path: Path) -> None:
    task: Task = evolve(Desk(DeskOptions()).tasks("train")[0], query="one\u2028two\x85three\x0bfour")
    file, head = tmp_path / "tasks.jsonl", {"format": FORMAT, "environment": {"name": "desk"}}
    file.write_text("\n".join([json.dumps(head), json.dumps({"task": json.loads(to_json(task))})]), "utf-8")
    sample = drawn(read_sample(file), None, 0, 0)
    export(sample, tmp_path / "again.jsonl")
    assert read_sample(tmp_path / "again.jsonl").whole == sample.whole == (task,)
