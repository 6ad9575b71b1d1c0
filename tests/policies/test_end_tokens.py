"""What ends an answer, where the files of a model disagree about it."""

import json
from pathlib import Path
from typing import Any

import pytest

from coevolve import Sampling, Task, UserError
from coevolve.plugins.policies.chat_format import ChatFormat
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

END, USER, WORD = 2, 4, 9
NEXT_ROLE_ENDS = "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} {% endfor %}"
LINE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
START = "{% if add_generation_prompt %}<|assistant|> {% endif %}"


def change(file: Path, **settings: Any) -> None:
    known = json.loads(file.read_text())
    file.write_text(json.dumps({name: value for name, value in (known | settings).items() if value != "gone"}))


def policy(folder: Path, **options: Any) -> TransformersPolicy:
    return TransformersPolicy(TransformersOptions(model=str(folder), **options))


def test_the_template_s_end_of_an_answer_ends_completions(tiny: Any, tmp_path: Path) -> None:
    """As base models and Gemma have it: the declared end token ends documents, and another one ends turns."""
    folder = tiny.save(tmp_path / "model")
    change(folder / "config.json", eos_token_id=0)
    change(folder / "generation_config.json", eos_token_id=0)
    change(folder / "tokenizer_config.json", eos_token="<pad>")
    loaded = policy(folder)
    loaded.check()
    assert loaded.eos == {0, END}
    talk = loaded.begin(Task("t", "none", "q"), [{"role": "user", "content": "w1"}], None, 0)
    loaded.complete([talk], Sampling(1.0, 200, 1))
    assert END not in talk.ids[talk.prompt_length : -1]


@pytest.mark.parametrize(
    ("template", "end"),
    [(None, END), (NEXT_ROLE_ENDS + START, USER), (LINE, None), ("{{ bos_token }}" + NEXT_ROLE_ENDS + START, USER)],
)
def test_the_end_of_an_answer_is_read_off_the_template(tiny: Any, template: str | None, end: int | None) -> None:
    assert ChatFormat(tiny.tokenizer(template or tiny.TEMPLATE), "tiny").end_token == end


def test_a_role_that_ends_an_answer_is_not_appended_again(tiny: Any) -> None:
    chat = ChatFormat(tokenizer := tiny.tokenizer(NEXT_ROLE_ENDS + START), "tiny")
    assert tokenizer.decode(chat.suffix([{"role": "user", "content": "w1"}], None, USER, True)) == "w1 <|assistant|>"
    assert tokenizer.decode(chat.suffix([{"role": "user", "content": "w1"}], None, WORD, False)) == "<|user|> w1 <|assistant|>"


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
@pytest.mark.parametrize(("token", "what"), [(WORD, "ordinary text ('w2')"), (900, "no token of the tokenizer"), ([END, WORD], "w2")])
def test_a_declared_end_that_is_none_is_one_line(tiny: Any, tmp_path: Path, file: str, token: Any, what: str) -> None:
    folder = tiny.save(tmp_path / "model")
    change(folder / file, eos_token_id=token)
    with pytest.raises(UserError) as caught:
        policy(folder).check()
    assert what in str(caught.value) and f"{file} of model" in str(caught.value) and "\n" not in str(caught.value)


def test_what_no_file_says_is_not_held_against_it(tiny: Any, tmp_path: Path) -> None:
    """A Llama without eos_token_id has 2 by the library's default, which here is a word."""
    folder = tiny.save(tmp_path / "model")
    (folder / "generation_config.json").unlink()
    change(folder / "config.json", eos_token_id="gone")
    loaded = policy(folder)
    loaded.check()
    loaded.model.generation_config.eos_token_id = WORD
    assert loaded.eos == {END}
