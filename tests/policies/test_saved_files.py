"""What can only fail when it is saved is tried before the first rollout."""

import json
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy


def policy(tiny: Any, folder: Path, generation: dict[str, Any]) -> TransformersPolicy:
    tiny.save(folder)
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return TransformersPolicy(TransformersOptions(model=str(folder)))


@pytest.mark.parametrize(
    "generation",
    [
        {"do_sample": False, "temperature": 0.6, "top_p": 0.9, "eos_token_id": 2},
        {"temperature": 0.6, "eos_token_id": 2},
        {"do_sample": None, "top_k": 20, "min_p": 0.1, "typical_p": 0.5, "epsilon_cutoff": 0.1, "eta_cutoff": 0.1},
        {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": 20, "eos_token_id": [2], "pad_token_id": 0},
        {"pad_token_id": -1, "eos_token_id": 2},
        {},
    ],
)
def test_generation_settings_that_are_of_no_effect_do_not_prevent_the_save(tiny: Any, tmp_path: Path, generation: dict[str, Any]) -> None:
    checked = policy(tiny, tmp_path / "model", generation)
    checked.check()
    model = checked.load()
    model.generation_config.pad_token_id = 0  # as a trainer aligns it
    model.save_pretrained(tmp_path / "saved")
    kept = json.loads((tmp_path / "saved" / "generation_config.json").read_text())
    assert kept.get("temperature") == (0.6 if generation.get("do_sample") else None)


@pytest.mark.parametrize("generation", [{"num_beams": 1, "num_beam_groups": 1, "length_penalty": 2.0}, {"num_return_sequences": 3}])
def test_what_cannot_be_saved_is_one_line_before_the_run(tiny: Any, tmp_path: Path, generation: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"generation_config\.json of model .* cannot be saved again after training .*mend") as caught:
        policy(tiny, tmp_path / "model", generation).check()
    assert "\n" not in str(caught.value)
