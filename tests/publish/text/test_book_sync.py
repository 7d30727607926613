"""`make sync`: pages are filled from the lessons by name, prose stays byte for byte, and what is wrong is named."""

import pytest
import small_book

from grader.exercise import statements
from publish import sync
from publish.page import ROOT, read_page


def edit(folder, name, old, new, edition="en"):
    path = folder / "book" / edition / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def filled(folder):
    for path, (text, _) in sync.check(folder).stale.items():
        path.write_text(text, "utf-8")
    return sync.check(folder)


def book(tmp_path):
    folder = small_book.make(tmp_path)
    result = filled(folder)
    assert (result.problems, result.stale) == ([], {})
    return folder


def only_problem(folder):
    result = sync.check(folder)
    assert len(result.problems) == 1, result.problems
    return result.problems[0]


def test_the_pages_of_this_book_are_in_sync():
    result = sync.check(ROOT)
    assert result.problems == []
    assert [sentence for _, sentence in result.stale.values()] == []


def test_cells_are_filled_and_prose_stays_byte_for_byte(tmp_path):
    folder = small_book.make(tmp_path)
    before = (folder / "book/en/first.md").read_bytes()
    filled(folder)
    after = (folder / "book/en/first.md").read_bytes()
    bodies = (b"from minipod import devices, pictures\n\ndevices.simulate(8)\npictures.devices()\n", b"print(1 + 1)\n")
    for body in bodies:
        assert after.count(body) == 1
        after = after.replace(body, b"")
    assert after == before


def test_a_stale_body_names_page_and_cell(tmp_path):
    folder = book(tmp_path)
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text().replace("1 + 1", "1 + 2"))
    stale = {path.parent.name: sentence for path, (_, sentence) in sync.check(folder).stale.items()}
    assert set(stale) == {"en", "zh-Hans"}
    assert "book/en/first.md" in stale["en"] and "«add»" in stale["en"]


def test_an_unknown_cell_name_is_a_problem(tmp_path):
    folder = book(tmp_path)
    for edition in ("en", "zh-Hans"):
        path = folder / "book" / edition / "first.md"
        path.write_text(path.read_text("utf-8") + "\n```{code-cell}\n:cell: nobody\n```\n", "utf-8")
    problems = sync.check(folder).problems
    assert len(problems) == 2 and all("«nobody»" in p and "first.md" in p for p in problems)


def test_a_cell_no_page_uses_is_a_problem(tmp_path):
    folder = book(tmp_path)
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text() + "\n# %% forgotten\nprint(3)\n")
    problems = sync.check(folder).problems
    assert len(problems) == 2 and all("«forgotten»" in p for p in problems)


def test_what_stands_above_the_first_cell_is_on_no_page_but_a_cell_needs_a_name(tmp_path):
    folder = book(tmp_path)
    demo = folder / "lessons/first/demo.py"
    text = demo.read_text()
    demo.write_text("# Only as a script.\nimport os\n\nos.chdir('/')\n\n" + text)
    assert sync.check(folder).problems == [] and not sync.check(folder).stale
    demo.write_text("# %%\nimport os\n\n" + text)
    assert all("cell 1 has no name" in p for p in sync.check(folder).problems) and sync.check(folder).problems


def test_page_order_unlike_demo_order_is_a_problem(tmp_path):
    folder = book(tmp_path)
    demo = folder / "lessons/first/demo.py"
    head, draw, add = demo.read_text().partition("# %% add")[0], "", "# %% add\nprint(1 + 1)\n\n"
    demo.write_text(add + head + draw)
    problems = sync.check(folder).problems
    assert any("book/en/first.md" in p and "«draw» stands where" in p for p in problems), problems


def test_editions_must_have_the_same_labels(tmp_path):
    folder = book(tmp_path)
    edit(folder, "first.md", "(sec-second)=", "(sec-zweite)=", "zh-Hans")
    problem = only_problem(folder)
    assert "label" in problem and "«sec-second»" in problem and "«sec-zweite»" in problem


def test_editions_must_have_the_same_cells_and_tags(tmp_path):
    folder = book(tmp_path)
    edit(folder, "first.md", ":tags: [mistake]\n", "", "zh-Hans")
    assert "cell 2 differs" in only_problem(folder)


def test_a_heading_without_a_label_is_a_problem(tmp_path):
    folder = book(tmp_path)
    for edition in ("en", "zh-Hans"):
        edit(folder, "first.md", "(sec-second)=\n", "", edition)
    problems = sync.check(folder).problems
    assert len(problems) == 2 and all("has no label" in p for p in problems)


def test_a_missing_page_is_a_problem(tmp_path):
    folder = book(tmp_path)
    (folder / "book/zh-Hans/first.md").unlink()
    assert "book/zh-Hans/first.md is missing" in only_problem(folder)


def test_a_cell_inside_a_box_is_a_problem(tmp_path):
    folder = book(tmp_path)
    page = folder / "book/en/index.md"
    page.write_text(page.read_text("utf-8") + "\n:::{note}\n```{code-cell}\n:cell: add\n```\n:::\n", "utf-8")
    assert any("inside a box" in p for p in sync.check(folder).problems)


def test_an_exercise_is_filled_from_the_lesson_in_each_language(tmp_path):
    folder = book(tmp_path)
    lesson = folder / "lessons/first"
    docstring = '    """Double x.\n\n    把 x 加倍。\n    """\n'
    function = f"def twice(x):\n{docstring}    # TODO: double it.\n    raise NotImplementedError\n"
    (lesson / "exercises.py").write_text(function, "utf-8")
    (folder / "solutions").mkdir()
    (folder / "solutions/first.py").write_text("def twice(x):\n    return 2 * x\n")
    titles, hints = 'title.en = "Twice"\ntitle.zh-Hans = "两倍"', 'hints.en = ["Add."]\nhints.zh-Hans = ["相加。"]'
    (lesson / "words.toml").write_text(f"[twice]\n{titles}\n{hints}\n", "utf-8")
    for edition in ("en", "zh-Hans"):
        path = folder / "book" / edition / "first.md"
        path.write_text(path.read_text("utf-8") + "\n% exercise: twice\n% end exercise\n", "utf-8")
    assert filled(folder).problems == []
    en, zh = (read_page(folder / "book" / e / "first.md").text for e in ("en", "zh-Hans"))
    assert "Exercise 1 · Twice" in en and "Double `x`." in en and "把" not in en and "return 2 * x" in en
    assert "练习 1 · 两倍" in zh and "把 `x` 加倍。" in zh and "Double" not in zh and "相加。" in zh
    assert 'hints.zh-Hant = ["相加。"]' in (lesson / "words.zh-Hant.toml").read_text("utf-8")


def test_the_tool_says_what_is_wrong_and_fails(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    first = small_book.tool(folder, "sync", "--check")
    assert first.returncode == 1 and "run `make sync`" in first.stderr and "Traceback" not in first.stderr
    assert small_book.tool(folder, "sync").returncode == 0
    assert small_book.tool(folder, "sync", "--check").returncode == 0


def test_a_statement_shows_code_as_code_and_breaks_between_sentences_only():
    text = "x: f32[n, m], P('x'); w: f32[m], and\nb: f32[m].\ny: cut by P(('x', 'y'), None).\nReturns (out, b - y)."
    assert statements.markdown(text, ["x", "w", "b", "y"]) == (
        "`x`: `f32[n, m]`, `P('x')`; `w`: `f32[m]`, and\n`b`: `f32[m]`.\n\n"
        "`y`: cut by `P(('x', 'y'), None)`.\n\nReturns `(out, b - y)`."
    )
    assert statements.markdown("返回 (x, 1 - y)：`x @ y` 与 x。", ["x", "y"]) == "返回 `(x, 1 - y)`：`x @ y` 与 `x`。"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("words.toml", '[twice]\ntitle.en = "Twice\n', "lessons/first/words.toml: cannot be read: "),
        ("exercises.py", "def twice(x:\n", "lessons/first/exercises.py:1: cannot be read: "),
    ],
)
def test_a_slip_in_a_lesson_is_one_sentence(tmp_path, name, text, says):
    folder = book(tmp_path)
    (folder / "lessons/first/words.toml").write_text('[twice]\ntitle.en = "Twice"\n', "utf-8")
    (folder / "lessons/first" / name).write_text(text, "utf-8")
    assert only_problem(folder).startswith(says)


@pytest.mark.parametrize(
    "words",
    [
        "``jax.jit` compiles.",
        "`So `P()` says.",
        ":::{dropdown} Hint\n``P` says.\n:::",
        ":::::{a} b\n:::{c} d\n`P\n:::\n:::::",
    ],
)
def test_a_backtick_that_closes_no_code_is_named_with_its_line(tmp_path, words):
    folder = book(tmp_path)
    path = folder / "book/en/first.md"
    path.write_text(path.read_text("utf-8") + "\n" + words + "\n", "utf-8")
    line = 1 + path.read_text("utf-8").split("\n").index(next(w for w in words.split("\n") if "`" in w))
    assert only_problem(folder) == f"book/en/first.md:{line}: a backtick here opens code that none closes"


def test_code_that_holds_a_backtick_or_goes_on_in_the_next_line_is_code(tmp_path):
    folder = book(tmp_path)
    path = folder / "book/en/first.md"
    path.write_text(path.read_text("utf-8") + "\n`` a`b `` and `jax.\njit`, $`x`$\n", "utf-8")
    assert sync.check(folder).problems == []
