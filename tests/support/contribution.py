"""What a stranger writes who adds an exercise, or a chapter, as CONTRIBUTING.md says: in one language or both.

`python -m lessons new` has made the places; `fill` and `fill_chapter` put there what follows.
"""

import re
import subprocess
import sys
from pathlib import Path

from publish.author.templates import MARK

MISTAKES = ("whole", "by_all", "columns")
CHAPTER = "ch25_rows"
ASKED = {
    "en": """How many rows of x has each device of mesh, when axis "x" cuts them?

    x: f32[rows, columns], on one device.
    mesh: with the axes "x" and "y".
    Returns the number of rows on one device, an int (it is the same on all).""",
    "zh-Hans": """沿 "x" 轴切开 x 的行之后，mesh 的每个设备持有多少行？

    x：f32[rows, columns]，在一个设备上。
    mesh：有 "x" 和 "y" 两个轴。
    返回一个设备上的行数（int，各设备相同）。""",
}
TODO = {"en": "TODO: divide by one number of the mesh.", "zh-Hans": "TODO：除以网格的一个数。"}
WORDS = {
    "en": {
        "title": '"Rows of a device"',
        "hints": '["What is the size of axis x?", "mesh.shape says it.", "len(x) // mesh.shape[\\"x\\"]"]',
        "whole": ("all rows", "Each device has a part of the rows only."),
        "by_all": ("divided by all devices", "Axis y copies: it divides nothing."),
        "columns": ("columns", "These are columns; the rows are asked for."),
    },
    "zh-Hans": {
        "title": '"每个设备的行数"',
        "hints": '["x 轴有多大？", "看看 mesh.shape。", "len(x) // mesh.shape[\\"x\\"]"]',
        "whole": ("全部的行", "每个设备只持有一部分行。"),
        "by_all": ("除以了全部设备数", "y 轴上放的是副本，不会再切一次。"),
        "columns": ("数成了列", "这是列数，题目问的是行数。"),
    },
}
TEST = """def test_rows_of(check):
    def cases(rng):
        found = []
        for sizes, rows in (((2, 2), 8), ((4, 2), 12)):
            devices = np.array(jax.devices()[: sizes[0] * sizes[1]])
            mesh = Mesh(devices.reshape(sizes), ("x", "y"))
            for columns in (3, int(rng.integers(5, 9))):
                found.append((normal(rng, rows, columns), mesh))
        return found

    check(cases, oracle=lambda x, mesh: x.shape[0] // mesh.devices.shape[0])
"""
RIGHT = 'len(x) // mesh.shape["x"]', 'x.shape[0] // mesh.shape["x"]'
WRONG = "len(x)", "len(x) // mesh.size", 'x.shape[1] // mesh.shape["x"]'
UNLISTED = (
    'len(x) // mesh.shape["y"]',
    "-len(x)", 'len(x) // mesh.shape["x"] + 1', 'len(x) / mesh.shape["x"]', "None", "x[:1]",
    'str(len(x) // mesh.shape["x"])', 'len(x) * mesh.shape["x"]', "len(mesh.devices)", "[len(x)]",
)  # fmt: skip
PAGE = {
    "en": ("Rows", "Which device has which rows.", "Each device prints its number.\nThis is a page of a test."),
    "zh-Hans": ("行", "哪个设备持有哪些行。", "每个设备打印自己的编号。这是测试里的一页。"),
}
FACTS = {
    "en": ("count the rows of a device", "Which device has which row?", "a device's rows"),
    "zh-Hans": ("数出每个设备的行数", "哪一行在哪个设备上？", "一个设备的行"),
}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """`python -m …` as typed in that folder."""
    command = (sys.executable, "-m", *command)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


def new(folder: Path, chapter: str, *only: str) -> None:
    """The places of the exercise."""
    made = run(folder, "lessons", "new", chapter, "rows_of(x, mesh)", *only, "--mistakes", *MISTAKES)
    assert made.returncode == 0, made.stderr


def fill(folder: Path, lesson: str, languages: tuple[str, ...]) -> None:
    """Write the exercise into what `new` has made of it."""
    here, solutions = folder / "lessons" / lesson, folder / "solutions"
    head, returns = "def rows_of(x, mesh):\n", "    return {}\n"
    asked = "\n\n    ".join(ASKED[language] for language in languages)
    todo = "".join(f"    # {TODO[language]}\n" for language in languages)
    _end(here / "exercises.py", f'{head}    """{asked}\n    """\n{todo}    raise NotImplementedError\n')
    _end(here / "test_exercises.py", TEST, "def test_rows_of(")
    _end(solutions / f"{lesson}.py", head + returns.format(RIGHT[0]))
    _end(here / "others/right_a.py", head + returns.format(RIGHT[1]))
    _end(here / "mistakes.py", _functions(MISTAKES, WRONG))
    _end(here / "others/unlisted.py", _functions([f"other_{n}" for n in range(10)], UNLISTED))
    words = here / "words.toml"
    text = words.read_text("utf-8")
    for language in languages:
        said, (before, own) = WORDS[language], text.split("[rows_of]\n")
        own = _put(own, language, {key: said[key] for key in ("title", "hints")})
        for mistake in MISTAKES:
            table = f"[rows_of.mistakes.{mistake}]\n"
            start, end = own.split(table)
            name, about = said[mistake]
            own = start + table + _put(end, language, {"name": f'"{name}"', "text": f'"{about}"'})
        text = f"{before}[rows_of]\n{own}"
    words.write_text(text, "utf-8")


def _put(text: str, language: str, said: dict[str, str], count: int = 1) -> str:
    """A TOML text with these values for the first `count` keys of each name in a language."""
    for key, value in said.items():
        text = re.sub(rf"(?m)^({key}\.{language} = ).*", lambda m, value=value: m[1] + value, text, count=count)
    return text


def _functions(names, bodies) -> str:
    return "\n\n".join(f"def rows_of__{n}(x, mesh):\n    return {b}\n" for n, b in zip(names, bodies, strict=True))


def _end(path: Path, text: str, begin: str = "def rows_of") -> None:
    """Put `text` for what the file has from the exercise on, which stands last."""
    before, _, _ = path.read_text("utf-8").partition(begin)
    path.write_text(before + text, "utf-8")


def fill_chapter(folder: Path, languages: tuple[str, ...]) -> None:
    """Write the chapter into what `new` has made of it."""
    here = folder / "lessons" / CHAPTER
    facts = (here / "chapter.toml").read_text("utf-8")
    for language in languages:
        title, _, prose = PAGE[language]
        page = folder / "book" / language / f"{CHAPTER}.md"
        text = page.read_text("utf-8").replace(f"# {MARK}", f"# {title}", 1)
        page.write_text(text.replace(MARK, prose), "utf-8")
        goal, ask, thing = FACTS[language]
        said = {"title": f'"{title}"', "goal": f'"{goal}"', "ask": f'["{ask}"]', "words": f'["{thing}"]'}
        said |= {"here": f'"{thing}"', "torch": f'"{thing}"'}
        facts = _put(facts, language, said, count=0)
    facts = facts.replace(f"https://{MARK}", "https://pytorch.org/docs/stable/distributed.tensor.html")
    (here / "chapter.toml").write_text(facts, "utf-8")
    demo = "# %% first\nfrom minipod import devices\n\ndevices.simulate(8)\nprint(8)\n"
    (here / "demo.py").write_text(demo)
    checks = here / "test_exercises.py"
    imports = "\n\nimport jax\nimport numpy as np\nfrom jax.sharding import Mesh\n\nfrom grader import normal\n\n\n"
    checks.write_text(checks.read_text("utf-8").replace("\n\n\n", imports, 1), "utf-8")
