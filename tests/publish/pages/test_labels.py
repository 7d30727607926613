"""What pictures, tables and launches say on a Chinese page."""

import html
import json
import re
from collections.abc import Iterator

from publish.page import ROOT
from publish.pages import figures, labels

# Two words of English side by side, in a text without a Chinese character.
ENGLISH = re.compile(r"(?=[^\u3400-\u9fff]*$).*?\b[a-z]{2,},? [a-z]+\b", re.S)


HALF = re.compile("[a-z]{3} [a-z]{3}")  # in a description, Chinese or not, but for what chapter 16's job printed
PRINTED = re.compile(r"told to go: step \d+ is saved|ended with \d+: again")


def english(markup: str) -> Iterator[str]:
    """What is left in English of its texts, of the names that a screen reader reads, and of descriptions; no code."""
    for piece in re.finditer(labels._PIECES, markup):
        words = html.unescape(piece["text"] or piece["value"] or "").strip()
        if words != "minipod run" and ENGLISH.match(words):
            yield words
    yield from (said for said in re.findall("<title[^>]*>([^<]*)", markup) if HALF.search(PRINTED.sub("", said)))


def test_no_picture_no_table_and_no_launch_is_left_in_english():
    left, titles = {}, 0
    for recorded in sorted(ROOT.glob("book/outputs/*.json")):
        cells = json.loads(recorded.read_text("utf-8"))["cells"]
        shown = ("".join(o.get("data", {}).get("text/html", "")) for cell in cells for o in cell["outputs"])
        told = [figures.in_words(markup, "zh-Hans", recorded.stem) for markup in shown if "minipod" in markup]
        titles += sum(markup.count("<title") for markup in told)
        if found := {text for markup in told for text in english(markup)}:
            left[recorded.stem] = found
    assert left == {} and titles > 100


LAUNCHES = {
    "process 0 ended with exit status 75": "进程 0 以退出码 75 结束",
    "process 1 was killed by SIGKILL; process 0 was waiting in": "进程 1 被 SIGKILL 杀死；进程 0 当时在等待：",
    "(night.py:72) and has been ended": "（night.py:72），已被结束",
    "process 0 aborted (SIGABRT)": "进程 0 中止（SIGABRT）",
    "process 0 ended with exit status 1: Unknown flags in XLA_FLAGS: --x, which this environment sets":
        "进程 0 以退出码 1 结束：Unknown flags in XLA_FLAGS: --x，这是环境变量设定的",
    "process 1 finished while process 0 is still waiting in": "进程 1 已经结束，进程 0 还在等待：",
    "(a.py:3); all have been ended": "（a.py:3）；已全部结束",
    "still running after 5 s: process 0 is waiting in": "运行了 5 秒还没有结束。进程 0 在等待：",
    "still running after 5 s: process 0 is waiting, process 1 has finished":
        "运行了 5 秒还没有结束。进程 0 在等待，进程 1 已经结束",
    "all 4 processes raised ValueError: no; way, at a.py:7":
        "全部 4 个进程都在 a.py 第 7 行代码抛出 ValueError: no; way",
    "process 1 raised X: timed out, at a.py:7, after process 0 had finished; process 2 was busy in":
        "进程 1 在 a.py 第 7 行代码抛出 X: timed out；在此之前，进程 0 已经结束；进程 2 当时停在：",
    "process 0 waits at host:10 (toy.py:4) for process 1, which never joins there; process 1 joins host:11":
        "进程 0 在 host:10（toy.py:4）等待进程 1，但该进程不会加入这里；进程 1 加入的是 host:11",
    "process 0 is happy": "process 0 is happy",
}  # fmt: skip


def test_a_launch_says_in_chinese_what_went_wrong():
    assert {sentence: labels.label(sentence, "zh-Hans") for sentence in LAUNCHES} == LAUNCHES
