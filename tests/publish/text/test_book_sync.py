"""`make sync`: pages are filled from the lessons by name, prose and addresses stay, and what is wrong is named."""

import pytest
import small_book
from small_book import edit, replace

from publish import addresses, sync


def filled(folder):
    for path, (text, _) in sync.check(folder).stale.items():
        path.write_text(text, "utf-8")
    return sync.check(folder)


@pytest.fixture
def folder(tmp_path):
    """The small book, in sync."""
    result = filled(small_book.make(tmp_path))
    assert (result.problems, result.stale) == ([], {})
    return tmp_path


DEMO = "lessons/first/demo.py"


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


def test_a_stale_body_names_page_and_cell_and_a_missing_page_is_a_problem(folder):
    replace(folder / DEMO, "1 + 1", "1 + 2")
    stale = {path.parent.name: sentence for path, (_, sentence) in sync.check(folder).stale.items()}
    assert set(stale) == {"en", "zh-Hans"}
    assert "book/en/first.md" in stale["en"] and "`add`" in stale["en"]
    (folder / "book/zh-Hans/first.md").unlink()
    (problem,) = sync.check(folder).problems
    assert "book/zh-Hans/first.md is missing" in problem


UNKNOWN = "\n```{code-cell}\n:cell: nobody\n```\n"
LAST = "# %% add\nprint(1 + 1)\n"
WRONG = {
    "a cell that demo.py lacks": ([("", UNKNOWN)], [], ["book/en/first.md", "`nobody`"], 2),
    "a cell on no page": ([], [("print(1 + 1)\n", "print(1 + 1)\n\n# %% forgotten\nprint(3)\n")], ["`forgotten`"], 2),
    "a cell without a name": ([], [("# %% draw", "# %%\nimport os\n\n# %% draw")], ["cell 1 has no name"], 1),
    "another order": ([], [(LAST, ""), ("# %% draw", LAST + "# %% draw")], ["first.md", "`draw` is where"], 2),
    "no label": ([("(sec-second)=\n", "")], [], ["has no label"], 2),
    "in a box": ([("", "\n:::{note}\n```{code-cell}\n:cell: add\n```\n:::\n")], [], ["inside a box"], 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_cells_and_headings_is_named(folder, name):
    on_pages, in_demo, said, count = WRONG[name]
    edit(folder, "first", *on_pages)
    for old, new in in_demo:
        replace(folder / DEMO, old, new)
    problems = sync.check(folder).problems
    assert len(problems) >= count and any(all(words in problem for words in said) for problem in problems), problems


def test_what_stands_above_the_first_cell_is_on_no_page(folder):
    replace(folder / DEMO, "# %% draw", "# Only as a script.\nimport os\n\nos.chdir('/')\n\n# %% draw")
    assert (sync.check(folder).problems, sync.check(folder).stale) == ([], {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(sec-second)=", "(sec-zweite)=", ("label", "`sec-second`", "`sec-zweite`")),
        (":tags: [mistake]\n", "", ("cell 2 differs",)),
    ],
)
def test_editions_must_have_the_same_labels_cells_and_tags(folder, old, new, said):
    edit(folder, "first", (old, new), editions=("zh-Hans",))
    (problem,) = sync.check(folder).problems
    assert all(words in problem for words in said)


def test_the_tool_says_what_is_wrong_and_fails(tmp_path, monkeypatch, capsys):
    check, folder = sync.check, small_book.make(tmp_path)
    monkeypatch.setattr(sync, "ROOT", folder)
    monkeypatch.setattr(sync, "check", lambda: check(folder))
    assert sync.main(["--check"]) == 1 and "run `make sync`" in capsys.readouterr().err
    assert (sync.main([]), sync.main(["--check"])) == (0, 0)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("words.toml", '[twice]\ntitle.en = "Twice\n', "lessons/first/words.toml: cannot be read: "),
        ("exercises.py", "def twice(x:\n", "lessons/first/exercises.py:1: cannot be read: "),
    ],
)
def test_a_slip_in_a_lesson_is_one_sentence(folder, name, text, says):
    (folder / "lessons/first/words.toml").write_text('[twice]\ntitle.en = "Twice"\n', "utf-8")
    (folder / "lessons/first" / name).write_text(text, "utf-8")
    (problem,) = sync.check(folder).problems
    assert problem.startswith(says)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("``jax.jit` compiles.", 0),
        ("`So `P()` says.", 0),
        (":::{dropdown} Hint\n``P` says.\n:::", 1),
        (":::::{a} b\n:::{c} d\n`P\n:::\n:::::", 2),
        ("`` a`b `` and `jax.\njit`, $`x`$", None),  # holds a backtick, or goes on in the next line
    ],
)
def test_a_backtick_that_closes_no_code_is_named_with_its_line(folder, words, line):
    at = (folder / "book/en/first.md").read_text("utf-8").count("\n") + 2
    edit(folder, "first", ("", f"\n{words}\n"), editions=("en",))
    said = f"book/en/first.md:{at + (line or 0)}: a backtick here opens code that is never closed"
    assert sync.check(folder).problems == ([] if line is None else [said])


def entered(folder):
    sync.fill(sync.check(folder))
    return (folder / addresses.LIST).read_text("utf-8").splitlines()[1:]


def test_new_addresses_enter_by_themselves_and_one_that_goes_is_named_and_stays(tmp_path):
    folder = small_book.make(tmp_path)
    before = ["first", "first#sec-first", "first#sec-second", "index", "index#sec-index"]
    assert entered(folder) == before
    assert (sync.check(folder).problems, sync.check(folder).stale) == ([], {})
    small_book.edit(folder, "first", ("(sec-second)=", "(sec-third)="))
    gone = "first#sec-second is gone from the pages: links to it from elsewhere break; put the label back"
    assert sync.check(folder).problems == [gone]
    assert entered(folder) == sorted([*before, "first#sec-third"])
    # of a page in one language each label is an address
    text, gone = addresses.listed(small_book.ROOT / "nowhere", {"one": ["(sec-one)=\n# One"]})
    assert (text.splitlines()[1:], gone) == (["one", "one#sec-one"], [])
    text, _ = addresses.listed(small_book.ROOT / "nowhere", {"one": ["(sec-one)=\n# One", "(sec-two)=\n# 一"]})
    assert text.splitlines()[1:] == ["one"]  # a label in one edition of two is none
