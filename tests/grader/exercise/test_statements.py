"""How a statement falls into paragraphs, and what is said where two languages do not state the same."""

import pytest

from grader.exercise.statements import kind, markdown, paragraphs, typed
from publish.languages import unlike

ENGLISH = """Rows of x, scaled.

x: f32[n, m], laid out P("x", None). Rows
may be zero.
w and b: f32[m], see
b: no paragraph, as no sentence ends above.

The rows stay where they are.
Returns (y, norm).
y: f32[n, m].
norm: f32[], of all. (On every device.)
- first;
- last.
Budget: nothing."""
CHINESE = """把 x 的各行缩放。

x：f32[n, m]，按 P("x", None) 摆放，
返回时也是。可以有零。
w、b：f32[m]。

各行留在原处。
返回 (y, norm)。
y：f32[n, m]。
norm：f32[]。（每个设备上都有。）
- 第一项；
- 最后一项。
预算：什么都不发送。"""
KINDS = ["…", "x", "w, b", "…", "Returns", "y", "norm", "…", "…", "Budget"]


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_arguments_results_and_the_budget_have_paragraphs_of_their_own(text):
    found = paragraphs(text)
    assert [kind(paragraph) for paragraph in found] == KINDS
    assert "".join(found).replace("\n", "") == text.replace("\n", "")
    assert "\n\n".join(paragraphs("\n\n".join(found))) == "\n\n".join(found)  # as words files have it
    assert typed(text) == {"f32[n, m]", "f32[m]", "f32[]", 'P("x", None)'}


def test_what_a_paragraph_is_about_is_code():
    shown = markdown(CHINESE, ["x", "w", "b"]).split("\n\n")
    assert shown[0] == "把 `x` 的各行缩放。" and shown[2] == "`w`、`b`：`f32[m]`。" and shown[5] == "`y`：`f32[n, m]`。"
    assert "`sent[i][j]` is" in markdown("sent: sent[i][j] is a number.", ["sent"])
    shown = markdown(ENGLISH, ["x", "w", "b"]).split("\n\n")
    assert shown[2].startswith("`w` and `b`: `f32[m]`, see") and shown[6].startswith("`norm`: `f32[]`, of all.")
    text = "x: f32[n, m]; w: f32[m], and\nb: f32[m].\ny: cut by P(('x', 'y'), None).\nReturns (out, b - y)."
    shown = markdown(text, ["x", "w", "b", "y"]).split("\n\n")  # a paragraph ends with its sentence
    assert shown[0] == "`x`: `f32[n, m]`; `w`: `f32[m]`, and\n`b`: `f32[m]`."
    assert shown[1:] == ["`y`: cut by `P(('x', 'y'), None)`.", "Returns `(out, b - y)`."]
    # a type with a line end in it is the same type
    assert typed('P(("x", "y"),\n    None) and bool[n,\n    m]') == {'P(("x", "y"), None)', "bool[n, m]"}


def said(root, english: str, chinese: str, arguments: str = "x, w, b") -> list[str]:
    folder = root / "lessons" / "ch95_small"
    folder.mkdir(parents=True, exist_ok=True)
    doc = "\n\n".join(filter(None, [english, chinese])).replace("\n", "\n    ")
    (folder / "exercises.py").write_text(f'def scaled({arguments}):\n    """{doc}\n    """\n', "utf-8")
    return unlike(root, "ch95_small")


def test_what_one_language_leaves_out_is_said(tmp_path):
    kinds = "… · x · w, b · … · Returns · y · norm · … · … · Budget"
    for before, after, what in [
        ("w、b：f32[m]。\n", "", f"has the paragraphs {kinds} in English, and in "),
        ("\n预算：", "预算：", "has the paragraphs"),
        ("y：f32[n, m]。", "y：形状为 [n, m]。", "says f32[n, m] in English only, in the paragraph y"),
        ("f32[]", "f64[]", "says f32[] in English only, in the paragraph norm"),
        ("w、b：f32[m]。", "w、b：f32[m]，b 是 f32[n]。", "says f32[n] in Chinese only, in the paragraph w, b"),
        ('P("x", None)', 'P("x")', 'says P("x", None) in English only, in the paragraph x'),
    ]:
        assert said(tmp_path, ENGLISH, CHINESE) == [] and before in CHINESE
        found = said(tmp_path, ENGLISH, CHINESE.replace(before, after))
        assert found[0].startswith(f"lessons/ch95_small/exercises.py: the docstring of `scaled` {what}")


def test_where_one_argument_has_a_line_each_has(tmp_path):
    found = said(tmp_path, ENGLISH, CHINESE, "x, w, b, mesh")
    assert found == ["lessons/ch95_small/exercises.py: the docstring of `scaled` has no line `mesh: …`"]
    assert said(tmp_path, "Rows of x, scaled.", "把 x 的各行缩放。") == []
    assert said(tmp_path, ENGLISH, "") == said(tmp_path, "", CHINESE) == []
