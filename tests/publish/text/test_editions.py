"""Both Chinese editions hold to one term per idea and to Chinese typography; words in pictures are translated."""

import ast
import re

import pytest
import small_book

from grader.exercise.statements import HAN, blanks_in
from minipod.pictures.drawing.svg import LABELS
from publish.page import ROOT
from publish.pages import figures, terms
from publish.pages.labels import label, translate
from publish.text.chinese_texts import prose, texts

WIDE = r"\u3400-\u9fff"


def forbidden(text: str, edition: str) -> list[str]:
    """Where a text uses a word that the glossary forbids in this edition."""
    told = []
    for row in terms.terms()["glossary"]:
        pattern = row.get("not", {}).get(edition)
        for number, line in prose(text) if pattern else []:
            for allowed in row.get("but", []):
                line = line.replace(allowed, "")
            told += [f"line {number}: «{m[0]}»; say {row[edition]}" for m in re.finditer(pattern, line)]
    return told


def test_no_forbidden_term_in_simplified_chinese():
    told = [f"{where}: {t}" for where, text in texts().items() for t in forbidden(text, "zh-Hans")]
    assert told == []


def test_no_forbidden_term_in_traditional_chinese():
    told = []
    for where, text in texts().items():
        told += [f"{where}: {t}" for t in forbidden(terms.traditional(terms.join_lines(text)), "zh-Hant")]
    for name, row in terms.ui().items():
        told += [f"book/terms.toml: {name}: {t}" for t in forbidden(row["zh-Hant"], "zh-Hant")]
    assert told == []


def test_the_lint_finds_what_it_looks_for():
    assert forbidden("用單卡的設備執行進程", "zh-Hant") and forbidden("集体通信", "zh-Hans")
    assert not forbidden("損失函數在 `函數` 裡", "zh-Hant")
    assert half_width("这样,不行") and half_width("这样(不行)") and not half_width("这样，`f(x, y)` 可以")
    assert no_space("用JAX写") and no_space("用`jax`写") and not no_space("用 `jax` 写 3 行")


def half_width(text: str) -> list[str]:
    """Half-width punctuation beside a Chinese character."""
    mark = rf"[{WIDE}][,;:!?()]|[,;:!?()][{WIDE}]|[{WIDE}]\.(?!\w)"
    return [f"line {n}: «{m[0]}»" for n, line in prose(text) for m in re.finditer(mark, strip_form(line))]


def no_space(text: str) -> list[str]:
    """A Chinese character beside a Latin letter, a digit or code without a space between."""
    side = rf"[{WIDE}](?:\*\*)?[A-Za-z0-9]|[A-Za-z0-9%](?:\*\*)?[{WIDE}]"
    return [f"line {n}: «{m[0]}»" for n, line in prose(text) for m in re.finditer(side, strip_form(line))]


def strip_form(line: str) -> str:
    """A line without what is Markdown or a name to fill in, not prose."""
    line = re.sub(r"^\s*(\(\S+\)=|:{3,}\{\w+\}|#+|[-*]|\d+\.)\s*", "", line)
    return re.sub(r"\{\w*\}", " ", line)


def test_punctuation_beside_chinese_is_full_width():
    told = [f"{where}: {t}" for where, text in texts().items() for t in half_width(text)]
    assert told == [], "\n".join(told)


def test_a_space_stands_between_chinese_and_latin():
    told = [f"{where}: {t}" for where, text in texts().items() for t in no_space(text)]
    assert told == [], "\n".join(told)


def test_chinese_has_no_italics():
    told = []
    for where, text in texts().items():
        for number, line in prose(text):
            if re.search(rf"(?<![*\w])\*(?![*\s])[^*]*[{WIDE}][^*]*(?<![*\s])\*(?!\*)", line):
                told.append(f"{where}: line {number}: {line}")
    assert told == []


@pytest.mark.parametrize("row", terms.terms()["glossary"], ids=lambda r: r["en"])
def test_a_term_becomes_its_traditional_form(row):
    if row["en"] in ("through", "concurrent"):  # depends on the sentence
        pytest.skip("what stands around it decides")
    assert terms.traditional(row["zh-Hans"]) == row["zh-Hant"]


def test_code_is_never_converted():
    text = "运行程序：\n```python\nprint('程序')\n```\n程序"
    assert terms.traditional(text) == "執行程式：\n```python\nprint('程序')\n```\n程式"


def test_comments_in_code_are_converted_alone_or_after_code():
    text = "```shell\n# 运行程序\necho '程序'     # 在那台机器上\necho '# 程序'\n```"
    assert terms.traditional(text) == "```shell\n# 執行程式\necho '程序'     # 在那台機器上\necho '# 程序'\n```"


@pytest.mark.parametrize(
    "simplified, taiwan",
    {
        "一台笔记本上的 8 个设备": "一台筆電上的 8 個裝置",
        "下载成笔记本": "下載成筆記本",
        "每个进程只读自己的行": "每個行程只讀自己的列",
        "文件夹只读": "資料夾唯讀",
        "每份报告各列了一次编号，列在本章的一节": "每份報告各列了一次編號，列在本章的一節",
        "它的各列在每个设备上不同": "它的各欄在每個裝置上不同",
        "第 {line} 行，第 3 行": "第 {line} 行，第 3 列",
        "只留下标志，下标为 0": "只留下標誌，索引為 0",
        "都会报错，没有报错，报错说得很清楚": "都會出錯，沒有錯誤訊息，錯誤訊息說得很清楚",
        "JAX 会报错": "JAX 會丟出錯誤",
        "打印了一次，打印形状，两次打印之间": "印了一次，印出形狀，兩次列印之間",
        "一个芯片，8 个芯片，几个设备": "一顆晶片，8 顆晶片，幾個裝置",
        "共享的偏置，共享内存": "共用的偏差項，共享記憶體",
        "编译后程序的通信量": "編譯後程式的通訊量",
        "每条记录，这条消息，一条链路，一条命令": "每筆記錄，這則訊息，一條鏈路，一個指令",
        "通信库、数据库和代码库": "通訊函式庫、資料庫和程式碼庫",
        "两个核，请换一个内核，核对轴名": "兩個核心，請換一個核心，核對軸名",
        "密钥（key）取决于密钥和位置": " key 取決於 key 和位置",
        "在 GPU 上就是显存": "在 GPU 上就是 GPU 記憶體",
        "实参和参数": "引數和參數",
    }.items(),
)
def test_a_word_becomes_what_its_sentence_asks_for_in_taiwan(simplified, taiwan):
    assert terms.traditional(simplified) == taiwan


def test_lines_of_a_chinese_paragraph_are_joined_and_nothing_else_is():
    text = "第一行，\n第二行。\n\n# 标题\n正文 `a`\n`b` 后\n- 项一\n- 项二\n```\n代\n码\n```\n:::{note}\n里面\n:::\n"
    joined = "第一行，第二行。\n\n# 标题\n正文 `a`\n`b` 后\n- 项一\n- 项二\n```\n代\n码\n```\n:::{note}\n里面\n:::\n"
    assert terms.join_lines(text) == joined


def test_every_word_in_a_picture_has_a_translation():
    samples = {
        r"\d+": "3", r"[\d–, …]+": "0–3, 5", r"\w*\[[\d,]*\]": "float32[2,2]", r".+": "x, y", "hosts?": "hosts",
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


def test_the_description_of_a_picture_is_translated_whole():
    english = "An array float32[4,8] P('x') in 2 shards (2 × 1): devices 0–3 each hold rows 0–1; device 4 holds row 2."
    chinese = "数组 float32[4,8] P('x')，共 2 个分片（2 × 1）：设备 0–3 各持有第 0–1 行；设备 4 持有第 2 行。"
    assert label(english, "zh-Hans") == chinese
    assert label("device 2048", "zh-Hant") == "裝置 2048"


def test_every_recorded_picture_says_in_chinese_what_it_shows():
    english = []
    for path in sorted((ROOT / "book" / "outputs").glob("*.json")):
        for markup in re.findall(r"<figure class=.{2}minipod.*?</figure>", path.read_text("utf-8")):
            said = figures.description(markup.replace('\\"', '"'))
            if re.search("[a-z]{3} [a-z]{3}", said) and not HAN.search(label(said, "zh-Hans", path.stem)):
                english.append(f"{path.stem}: {said[:80]}")
    assert english == []


def test_the_table_of_published_figures_is_in_the_readers_language():
    cell = '<td class="minipod">all-gather over x of bf16[1024@x, 4096@y], TPU v4, 4×4×4</td><td>errs</td>'
    assert "沿 x 对 bf16[1024@x, 4096@y] 做 all-gather" in translate(cell, "zh-Hans")
    assert "有誤" in translate(cell, "zh-Hant")
    folded = '<details class="minipod"><summary>why each of them agrees, rounds or errs</summary><td>With (n-1)/n.</td>'
    assert ">每一个为何一致、近似或有误<" in translate(folded, "zh-Hans")
    assert ">带上了 (n-1)/n。<" in translate(folded, "zh-Hans")


@pytest.mark.parametrize("lesson", sorted(path.parent.name for path in ROOT.glob("lessons/ch*/exercises.py")))
def test_the_blanks_of_a_reader_of_traditional_chinese_are_in_it(lesson):
    blanks = ROOT / "lessons" / lesson / "exercises.py"
    text, derived = blanks.read_text("utf-8"), blanks_in(blanks, "zh-Hant")
    chinese = [line for line in derived.split("\n") if HAN.search(line)]
    assert chinese and not re.search("[们进这个时设备数组维说]", "".join(chinese))
    assert all(sum(2 if HAN.match(c) else 1 for c in line) <= 92 for line in chinese)
    for one, other in zip(ast.parse(text).body, ast.parse(derived).body, strict=True):
        if isinstance(one, ast.FunctionDef) and isinstance(other, ast.FunctionDef):
            assert ast.get_docstring(one) != ast.get_docstring(other)
            del one.body[0], other.body[0]
        elif isinstance(one, ast.Expr):
            continue  # the docstring of the file
        assert ast.dump(one) == ast.dump(other)


def test_what_follows_a_directive_between_backticks_is_prose():
    text = "网格\n\n```{explorer} array=8,16\n:whole:\n```\n\n网格的轴\n\n```python\n网格\n```\n\n网格"
    derived = terms.traditional(text).split("\n")
    assert [line for line in derived if "格" in line] == ["網格", "網格的軸", "网格", "網格"]


def test_quotes_in_chinese_stay_as_they_were_typed():
    """Sphinx would make 「x」 of the "x" in a hint, which is code."""
    html = small_book.real_book()
    for edition in ("zh-Hans", "zh-Hant"):
        assert "切、被 &quot;y&quot;" in (html / edition / "ch03_sharding.html").read_text("utf-8")
