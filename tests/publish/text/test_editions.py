"""Both Chinese editions hold to one term per idea and to Chinese typography; words in pictures are translated."""

import re
import tomllib

from minipod.drawing.svg import LABELS
from publish.page import ROOT
from publish.pages import terms
from publish.pages.labels import label, translate
from publish.text import style


def test_the_lint_finds_what_it_looks_for():
    def told(text: str) -> list[str]:
        return [kind for _, kind, _, _ in style.typography(text)]

    assert [*style.forbidden("用單卡的設備執行進程", "zh-Hant")] and told("集体通信")[0] == "term in zh-Hans"
    assert not [*style.forbidden("損失函數在 `函數` 裡", "zh-Hant")]
    assert told("这样,不行") == told("(不行)")[:1] == ["half-width punctuation"] and not told("这样，`f(x, y)` 可以")
    assert set(told("用JAX写")) == set(told("用`jax`写")) == {"no space"} and not told("用 `jax` 写 3 行")
    assert told("第一行\n这是 *斜体* 的") == ["italics"] and not told("这是**粗体**的，2 * 3")


def test_a_term_becomes_its_traditional_form():
    rows = [row for row in terms.terms()["glossary"] if row["en"] not in ("through", "concurrent")]  # as in a sentence
    assert [terms.traditional(row["zh-Hans"]) for row in rows] == [row["zh-Hant"] for row in rows]


def test_code_is_never_converted_and_comments_in_it_are_alone_or_after_code():
    text = "运行程序：\n```python\nprint('程序')\n```\n程序"
    assert terms.traditional(text) == "執行程式：\n```python\nprint('程序')\n```\n程式"
    text = "```shell\n# 运行程序\necho '程序'     # 在那台机器上\necho '# 程序'\n```"
    assert terms.traditional(text) == "```shell\n# 執行程式\necho '程序'     # 在那台機器上\necho '# 程序'\n```"
    # what follows a directive between backticks is prose
    text = "网格\n\n```{explorer} array=8,16\n:whole:\n```\n\n网格的轴\n\n```python\n网格\n```\n\n网格"
    derived = terms.traditional(text).split("\n")
    assert [line for line in derived if "格" in line] == ["網格", "網格的軸", "网格", "網格"]


def test_a_word_becomes_what_its_sentence_asks_for_in_taiwan():
    pairs = tomllib.loads((ROOT / "tests/data/taiwan.toml").read_text("utf-8"))
    assert {simplified: terms.traditional(simplified) for simplified in pairs} == pairs and len(pairs) > 70


def test_lines_of_a_chinese_paragraph_are_joined_and_nothing_else_is():
    text = "第一行，\n第二行。\n\n# 标题\n正文 `a`\n`b` 后\n- 项一\n- 项二\n```\n代\n码\n```\n:::{note}\n里面\n:::\n"
    joined = "第一行，第二行。\n\n# 标题\n正文 `a`\n`b` 后\n- 项一\n- 项二\n```\n代\n码\n```\n:::{note}\n里面\n:::\n"
    assert terms.join_lines(text) == joined


def test_every_word_in_a_picture_has_a_translation():
    samples = {
        r"\d+": "3", r"[\d–, …]+": "0–3, 5", r"\w*\[[\d,]*\]": "float32[2,2]", r".+": "x, y", "hosts?": "hosts",
        r"[\d,]+": "1,023",
    }  # fmt: skip
    missing = []
    for pattern in LABELS:
        text = pattern
        for part, sample in samples.items():
            text = text.replace(part, sample)
        for choice in re.findall(r"\(([^()|]+(?:\|[^()|]+)+)\)", text)[:1] or [""]:
            for word in choice.split("|"):
                said = re.sub(r"\([^()]*\|[^()]*\)", word, text)
                if re.search("[A-Za-z]{3}", said) and label(said, "zh-Hans") == said:
                    missing.append(said)
    assert missing == []


def test_a_label_is_translated_whole_and_a_table_is_in_the_readers_language():
    assert label("device 2048", "zh-Hant") == "裝置 2048"
    cell = '<td class="minipod">all-gather over y of bf16[2048@y, 8192], TPU v5e, 8×4</td><th>measured</th>'
    assert "沿 y 对 bf16[2048@y, 8192] 做 all-gather" in translate(cell, "zh-Hans")
    assert "實測" in translate(cell, "zh-Hant")
