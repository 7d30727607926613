"""Floors, rooms, circles and what is imported from elsewhere: each rule holds here, and can be broken."""

import pytest

from publish import house

PROJECT = """[project]
name = "pods"
dependencies = ["numpy>=2", "jax"]
[project.optional-dependencies]
class = ["pods[learn]", "cloudpickle"]
learn = ["PyYAML>=6"]
book = ["pods[class,learn]", "markdown-it-py"]
"""


@pytest.fixture
def built(tmp_path):
    """A house in which nothing is wrong."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    write(tmp_path, "minipod/mesh.py", "import sys\nimport numpy as np\nfrom minipod import shape")
    write(tmp_path, "minipod/shape.py", "import jax.numpy")
    write(tmp_path, "grader/messages.py", "import yaml, minipod.mesh")
    write(tmp_path, "grader/see/wire.py", "from grader import messages\nfrom grader.exercise.spec import Spec")
    write(tmp_path, "grader/exercise/spec.py", "import cloudpickle")
    write(tmp_path, "grader/__init__.py", "from grader.exercise.spec import Spec")
    write(tmp_path, "publish/page.py", "import markdown_it\nfrom grader.see import wire\nimport cloudpickle")
    write(tmp_path, "tests/test_page.py", "import markdown_it, pods_helper")
    write(tmp_path, "tests/support/pods_helper.py", "")
    return tmp_path


def write(root, place, text):
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text + "\n")


def test_a_house_in_which_nothing_is_wrong(built):
    write(built, "minipod/cut.py", "import yaml, (")  # which ruff tells
    assert list(house.faults(built)) == []


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("minipod/up.py", "from grader import messages", "minipod imports grader.messages, which stands above it"),
        ("grader/exercise/up.py", "def f():\n    from grader.see import wire", "exercise imports see, which stands"),
        ("grader/up.py", "import grader.see.wire", "grader imports see, which stands above it"),
        ("minipod/bare.py", "import yaml", "yaml is imported, and pyproject.toml does not name it among its dep"),
        ("publish/odd.py", "import no_such_thing.at_all", "no_such_thing is imported, and pyproject.toml does not"),
        ("minipod/odd.py", "from tests.support import pods_helper", "tests is imported, and pyproject.toml does not"),
        ("tests/odd.py", "import no_such_thing", "no_such_thing is imported, and pyproject.toml does not name it"),
    ],
)
def test_what_is_built_otherwise_is_one_sentence_with_file_and_line(built, place, text, said):
    write(built, place, f"import sys\n{text}")
    line = 2 + text.count("\n")
    (told,) = house.faults(built)
    assert told.startswith(f"{place}:{line}: {said}")


def test_a_folder_with_a_project_of_its_own_is_held_against_that_one(built):
    own = '[project]\nname = "mini"\ndependencies = ["jax"]\n[project.optional-dependencies]\ntesting = ["pytest"]\n'
    write(built, "minipod/pyproject.toml", own)
    (told,) = house.faults(built)  # numpy is the other project's
    assert told.startswith("minipod/mesh.py:2: numpy is imported, and pyproject.toml does not name it")
    write(built, "minipod/pyproject.toml", own.replace('"jax"', '"jax", "numpy"'))
    write(built, "minipod/test.py", "import pytest")
    assert list(house.faults(built)) == []
    write(built, "grader/see/odd.py", "import pytest")
    assert len(list(house.faults(built))) == 1  # what brings it is minipod's extra, which the grader does not ask for
    write(built, "pyproject.toml", PROJECT.replace('["PyYAML>=6"]', '["PyYAML>=6", "mini[testing]"]'))
    assert list(house.faults(built)) == []


def test_a_circle_is_named_and_what_is_imported_for_types_only_makes_none(built):
    write(built, "minipod/shape.py", "import jax.numpy\nfrom minipod.far import out")
    write(built, "minipod/far.py", "import minipod.mesh")
    assert list(house.faults(built)) == [
        "minipod.mesh → minipod.shape → minipod.far → minipod.mesh: a circle of imports"
    ]
    only_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import minipod.mesh"
    write(built, "minipod/far.py", only_types)
    assert list(house.faults(built)) == []
