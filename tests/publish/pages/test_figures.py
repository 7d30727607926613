"""Pictures on a page: numbered, with a caption and an address, blocks in the colour of their device, words upright."""

import json
import re

import pytest

from publish.page import ROOT
from publish.pages import figures


def picture(alt: str, body: str = "") -> str:
    return f'<figure class="minipod"><svg class="minipod"><title id="t">{alt}</title>{body}</svg></figure>'


def blocks(first: list[str]) -> str:
    """Cells coloured by their place, as they are recorded, with the words in them."""
    each = '<rect x="1" class="cell c{}"/><text x="2" class="on">{}</text>'
    return "".join(each.format(place, words) for place, words in enumerate(first))


def colours(markup: str) -> list[int]:
    return [int(found) for found in re.findall(r'class="cell c(\d+)"', markup)]


def test_a_picture_has_a_number_a_caption_and_an_address_in_every_edition():
    alt = "An array float32[4,8] P('x') in 2 shards (2 × 1): devices 0–3 each hold rows 0–1; device 4 holds rows 2–3."
    shown = {e: figures.shown(picture(alt), "ch03_sharding", "place", 2, e) for e in ("en", "zh-Hans", "zh-Hant")}
    for html in shown.values():
        assert html.startswith('<figure class="minipod" id="fig-place"><svg')
        assert re.search(r'</svg><figcaption><a href="#fig-place">', html) and html.endswith("</figcaption></figure>")
    assert "\">Figure 3.2</a> An array float32[4,8] P('x') in 2 shards (2 × 1)</figcaption>" in shown["en"]
    assert "\">图 3.2</a> 数组 float32[4,8] P('x')，共 2 个分片（2 × 1）</figcaption>" in shown["zh-Hans"]
    assert "\">圖 3.2</a> 陣列 float32[4,8] P('x')" in shown["zh-Hant"]


def test_a_chapter_can_say_what_its_picture_shows():
    html = figures.shown(
        picture("loss over step: one device from 5 at 0 to 2 at 39."), "ch09_training", "picture-curve", 1, "en"
    )
    assert '">Figure 9.1</a> The loss of 40 steps on one device</figcaption>' in html  # chapter.toml has it


@pytest.mark.parametrize(
    ("alt", "english", "chinese"),
    [
        ("8 devices (x: 2, y: 4). all-reduce of 8 bytes along x: devices 0, 4; devices 1, 5.",
         "8 devices (x: 2, y: 4). all-reduce of 8 bytes along x", "8 个设备（x: 2, y: 4）：all-reduce，8 字节，沿 x"),
        ("8 devices (a: 8). 1, all-gather of 8 bytes along a, 4 times: device 0. 2, psum of 4 bytes along a: device 0.",
         "8 devices (a: 8). all-gather of 8 bytes along a, 4 times; psum of 4 bytes along a",
         "8 个设备（a: 8）：all-gather，8 字节，沿 a，4 次；psum，4 字节，沿 a"),
        ("A mesh of 8 devices, x: 2 × y: 4: at (0, 0) device 0; (0, 1) device 1.", "A mesh of 8 devices, x: 2 × y: 4",
         "8 个设备的网格，x: 2 × y: 4"),
        ("An array float32[8] P('x') in 4 shards: devices 0, 4 each hold elements 0–1.",
         "An array float32[8] P('x') in 4 shards", "数组 float32[8] P('x')，共 4 个分片"),
        ("8 devices (x: 8): nothing is sent.", "8 devices (x: 8): nothing is sent", "8 个设备（x: 8）：什么也不发送"),
    ],
)  # fmt: skip
def test_a_caption_leaves_out_who_holds_what(alt, english, chinese):
    assert figures.caption(alt, "ch01_devices", "other", "en") == english
    assert figures.caption(alt, "ch01_devices", "other", "zh-Hans") == chinese


def test_blocks_have_the_colour_of_their_device():
    alt = "An array float32[8] P(('y', 'x')) in 4 shards: device 0 holds element 0."
    assert colours(figures.coloured(picture(alt, blocks(["0", "2", "device 1", "3, 7"])))) == [0, 2, 1, 3]
    alt = "An array float32[8] P('x') in 4 shards: device 0 holds element 0."
    assert colours(figures.coloured(picture(alt, blocks(["0", "1", "2048", "2049"])))) == [0, 1, 2, 3]
    many = "An array float32[16] P('x') in 16 shards: device 0 holds element 0."
    assert colours(figures.coloured(picture(many, blocks(["3", "1"])))) == [0, 1]
    assert colours(figures.coloured(picture("8 devices (x: 8).", blocks(["3", "1"])))) == [0, 1]


def test_in_the_book_a_picture_has_as_many_colours_as_it_was_recorded_with():
    drawn = 0
    for path in sorted(ROOT.glob("book/outputs/ch*.json")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell["outputs"]:
                html = "".join(output.get("data", {}).get("text/html", ""))
                if figures.description(html).startswith("An array"):
                    drawn += 1
                    assert len(set(colours(figures.coloured(html)))) == len(set(colours(html)))
    assert drawn > 10


def test_chinese_words_at_the_side_stand_upright_and_english_ones_are_turned():
    turned = '<text class="small soft" text-anchor="middle" transform="translate(10 60) rotate(-90)">{}</text>'
    upright = figures.upright(picture("x", turned.format("行，沿 x")))
    assert "rotate" not in upright and "writing-mode:vertical-rl" in upright and "translate(10 60)" in upright
    assert figures.upright(picture("x", turned.format("rows over x"))) == picture("x", turned.format("rows over x"))


def test_what_is_no_picture_of_a_chapter_stays():
    table = '<table class="minipod traffic"><tr><td>all-reduce</td></tr></table>'
    assert figures.shown(table, "ch03_sharding", "costly-move", 4, "en") == table
    alone = picture("8 devices on 1 host: host 0 has devices 0–7.")
    assert figures.shown(alone, "start", "picture-one-sum", 1, "en") == alone
