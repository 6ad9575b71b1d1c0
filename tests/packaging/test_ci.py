"""CI runs what the README tells people to run."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ci_takes_its_line_from_the_readme() -> None:
    done = subprocess.run(["bash", ".ci/run", "--show"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "python3 -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt -e '.[test]' && python -m pytest\n"
    )
    assert f"\n<!-- test -->\n```bash\n{done.stdout}```\n<!-- /test -->\n" in (ROOT / "README.md").read_text("utf-8")
