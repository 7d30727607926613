"""What the READMEs show is what happens, and where they lead is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from publish.page import demo_cells

ROOT = Path(__file__).resolve().parents[2]
READMES = {"en": "README.md", "zh-Hans": "README.zh-Hans.md"}


def blocks(edition: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)\n```$", (ROOT / READMES[edition]).read_text("utf-8"))


@pytest.mark.parametrize("name", READMES.values())
def test_what_a_readme_links_to_is_there(name):
    text = (ROOT / name).read_text("utf-8")
    targets = [t for t in re.findall(r'\]\(([^)#\s]+)|src="([^"]+)"', text) for t in t if t and "://" not in t]
    assert len(targets) > 30
    assert [t for t in targets if not (ROOT / t).exists()] == []


@pytest.mark.parametrize("edition", READMES)
def test_the_code_beside_the_picture_is_what_drew_it(edition):
    assert blocks(edition, "python")[0] == next(iter(demo_cells(ROOT / "lessons/index/demo.py").values()))


@pytest.mark.parametrize("edition", READMES)
def test_the_cover_shows_what_the_readme_shows(edition):
    page = (ROOT / "book" / edition / "index.md").read_text("utf-8")
    assert f"```text\n{blocks(edition, 'text')[0]}\n```" in page


@pytest.mark.long
@pytest.mark.parametrize("edition", READMES)
def test_the_answer_of_a_readme_is_told_what_it_says(edition, tmp_path):
    (tmp_path / "ch03_sharding.py").write_text("import jax.numpy as jnp\n" + blocks(edition, "python")[1])
    asked = f"lessons/ch03_sharding -k bytes_per_device --answers {tmp_path} --lang {edition} --seed 936413"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked.split()]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300).stdout
    shown = blocks(edition, "text")[0].splitlines()
    assert len(shown) == 5 and [line for line in shown if line not in said] == []


def test_both_readmes_have_the_same_commands_and_nothing_to_fill_in():
    found = [[line.partition("#")[0].strip() for line in "\n".join(blocks(e, "shell")).splitlines()] for e in READMES]
    assert found[0] == found[1] and len(found[0]) > 20
    assert [line for line in found[0] if "git clone" in line and "://" not in line] == []
