"""Names of models, and models that cannot be read."""

import sys
from pathlib import Path
from typing import Any

import pytest

from coevolve import Sampling, Task, UserError
from coevolve.plugins.policies.models import device_and_dtype, locate
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy


def policy(name: object) -> TransformersPolicy:
    return TransformersPolicy(TransformersOptions(model=str(name)))


def one_line(caught: pytest.ExceptionInfo[UserError]) -> str:
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_saved_model_loads_and_speaks(tiny: Any, tmp_path: Path) -> None:
    loaded = policy(tiny.save(tmp_path / "model", seed=3))
    conversation = loaded.begin(Task("t", "none", "q"), [{"role": "user", "content": "w1"}], None, 0)
    live = TransformersPolicy.of(tiny.model(3), tiny.tokenizer(), TransformersOptions())
    same = live.begin(Task("t", "none", "q"), [{"role": "user", "content": "w1"}], None, 0)
    assert loaded.complete([conversation], Sampling(1.0, 9, 1)) == live.complete([same], Sampling(1.0, 9, 1))
    assert conversation.tokens == same.tokens


def test_a_folder_in_a_package(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "holder_of_models"
    package.mkdir()
    (package / "__init__.py").touch()
    folder = tiny.save(package / "small")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert locate("pkg:holder_of_models/small") == str(folder)
    with pytest.raises(UserError, match="has no folder 'large'"):
        locate("pkg:holder_of_models/large")
    with pytest.raises(UserError, match="cannot be imported"):
        locate("pkg:no_such_package_at_all/small")
    sys.modules.pop("holder_of_models")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c", "~/nowhere-7041/x", "pkg:", "with space"])
def test_names_without_a_model(name: str) -> None:
    with pytest.raises(UserError) as caught:
        locate(name)
    assert repr(name) in one_line(caught)


def test_incomplete_folders(tiny: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it holds no config"):
        locate(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickled")
    with pytest.raises(UserError, match="pickled weights are not loaded"):
        locate(str(tmp_path))


def test_damaged_weights(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for damaged in (whole[:-200], b"", b"\xff" * 400):
        weights.write_bytes(damaged)
        with pytest.raises(UserError, match="fetch or save it again") as caught:
            _ = policy(folder).model
        assert str(folder) in one_line(caught)


def test_missing_weights_are_not_made_up(tiny: Any, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tiny.save(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"1 weights are missing, model\.layers\.1\.mlp\.up_proj\.weight first"):
        _ = policy(folder).model


def test_damaged_configuration_and_tokenizer(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        _ = policy(folder).tokenizer
    (folder / "config.json").write_text('{"model_type": "no-such-type"}')
    with pytest.raises(UserError) as caught:
        _ = policy(folder).model
    assert "cannot be read" in one_line(caught)


def test_a_hub_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"hub cannot be reached .*name a local folder") as caught:
        _ = policy("nobody/nothing-7041").model
    one_line(caught)


def test_devices_and_dtypes() -> None:
    import torch

    assert device_and_dtype("cpu", "auto") == ("cpu", torch.float32)
    assert device_and_dtype("cpu", "bfloat16") == ("cpu", torch.bfloat16)
    with pytest.raises(UserError, match=r"policy\.dtype 'float16' is unknown \(there is: auto, float32, bfloat16\)"):
        device_and_dtype("cpu", "float16")
    with pytest.raises(UserError, match=r'policy\.device .foo. cannot be used: torch does not know it; name one such as "cpu"'):
        device_and_dtype("foo", "auto")


def test_a_device_that_is_not_there(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    with pytest.raises(UserError, match=r"policy\.device 'cuda:77' cannot be used"):
        _ = TransformersPolicy(TransformersOptions(model=str(folder), device="cuda:77")).model
    with pytest.raises(UserError, match=r"policy\.device 'cuda:77' cannot be used"):
        TransformersPolicy(TransformersOptions(model=str(folder), device="cuda:77")).check()


def test_a_check_names_what_is_wrong_before_the_weights_are_loaded(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    checked = policy(folder)
    checked.check()
    assert "model" not in vars(checked)
    (tmp_path / "model" / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match="has no chat template") as caught:
        policy(folder).check()
    one_line(caught)
    (folder / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"cannot be read \(ValueError: Unrecognized model") as caught:
        policy(folder).check()
    one_line(caught)
