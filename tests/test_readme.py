from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_readme_shows_the_environment_in_use() -> None:
    assert any("gymnasium.make(" in example for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n", 1)[0])
def test_every_example_of_the_readme_runs(example: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("folder", re.findall(r"^\| `([^`]+/)` \|", README, flags=re.MULTILINE))
def test_every_folder_on_the_house_map_exists(folder: str) -> None:
    assert (Path(__file__).resolve().parents[1] / folder).is_dir()
