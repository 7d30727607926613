"""Pictures on a page: numbered, with a caption and an address, in the words of an edition, words upright."""

import json
import re

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from picture_gallery import GALLERY, MAKE

from grader.exercise import chapters
from minipod import pictures
from minipod.drawing import phrases, svg
from publish.page import EDITIONS, ROOT, chapter_of
from publish.pages import figures, terms


def figure(picture: pictures.Picture) -> str:
    return picture._repr_mimebundle_()["text/html"]


def html(output: dict) -> str:
    """What a recorded output of a cell shows as HTML."""
    return "".join(output.get("data", {}).get("text/html", ""))


def sharded(*spec: str, shape: tuple[int, ...] = (4, 8)) -> pictures.Picture:
    return pictures.sharding(NamedSharding(jax.make_mesh((2, 4), ("x", "y")), P(*spec)), shape)


def test_a_picture_has_a_number_an_address_and_a_caption_which_a_chapter_can_write_in_every_edition():
    shown = {e: figures.shown(figure(sharded("x")), "ch03_sharding", "other", 2, e) for e in EDITIONS}
    for html in shown.values():
        assert html.startswith('<figure class="minipod" id="fig-other"><svg')
        assert re.search(r'</svg><figcaption><a href="#fig-other">', html) and html.endswith("</figcaption></figure>")
    assert "\">Figure 3.2</a> An array [4,8] P('x') in 2 shards (2 × 1)</figcaption>" in shown["en"]
    assert "\">图 3.2</a> 数组 [4,8] P('x')，共 2 个分片（2 × 1）</figcaption>" in shown["zh-Hans"]
    assert "\">圖 3.2</a> 陣列 [4,8] P('x')" in shown["zh-Hant"]
    html = figures.shown(figure(pictures.curve({"one device": [5, 2]})), "ch09_training", "picture-curve", 1, "en")
    said = "The loss of 40 steps on one device: it begins just below 6 and ends below 3, though it rises in some steps"
    assert f'">Figure 9.1</a> {said}</figcaption>' in html  # chapter.toml has it
    # what is no picture of a chapter stays
    table = '<table class="minipod traffic"><tr><td>all-reduce</td></tr></table>'
    assert figures.shown(table, "ch03_sharding", "costly-move", 4, "en") == table
    rows = sharded("x")
    alone = figures.shown(figure(rows), "start", "picture-one-sum", 1, "en")
    assert "<figcaption" not in alone and "<metadata" not in alone and f">{rows.alt}</title>" in alone


def test_the_description_of_every_picture_is_translated_whole():
    english = (
        r"(devices?|host(?!:)|hosts|holds?|each|shards?|rows?|columns?|slices?|elements?|mesh|array|of|along|times|bytes?"
        r"|loop|branch|from|to|over|lowest|finite|more|and|nothing|sent|split|copied|stacked|mapped|divided|number|one)"
    )
    for name in MAKE:
        text = figures.description(svg.data(GALLERY[name].svg), "zh-Hans")
        assert re.findall(rf"\b{english}\b", re.sub(r"\b(all|collective|reduce)-[\w-]+", "", text)) == [], text
    # Chinese has every phrase that pictures say, and no other value
    chinese, value = terms.terms()["pictures"], re.compile(r"\{\d[^}]*\}")
    assert chinese.keys() == phrases.ENGLISH.keys()
    for key, english in phrases.ENGLISH.items():
        said = set(value.findall(chinese[key]))
        assert said <= set(value.findall(english)) and (said or not value.search(english)), key


@pytest.mark.parametrize("edition", EDITIONS)
def test_each_frame_of_a_player_speaks_the_language_of_the_edition(edition):
    trace = pictures.Trace(3)
    trace.step("start", [["a"], ["b"], ["c"]])
    trace.step("turn 1", [["c"], ["a"], ["b"]], [pictures.Move(i, (i + 1) % 3, 0, 10) for i in range(3)])
    player = pictures.play(trace)
    shown = figures.shown(player._repr_html_(), "", "some", 1, edition)
    assert "<metadata>" not in shown and shown.count("data-words=") == 1
    said, heard = re.findall(r'class="said"[^>]*>([^<]*)', shown), re.findall(r'data-heard="([^"]*)', shown)
    titles = re.findall(r"<title[^>]*>([^<]*)", shown)
    if edition == "en":
        assert (tuple(said), tuple(heard)) == (player.sentences, player.heard)
        assert titles[1] == "device 0 holds c; device 1 holds a; device 2 holds b."
    else:
        assert not re.search("[a-z]{2}", "".join([*said, *heard, *titles])) and len(said) == len(heard) == 2
        assert heard[1].startswith(said[1][:-1] + "：" if said[1].endswith("。") else said[1])
    assert figures.description(svg.data(player._repr_html_()), edition).count("\n") == 0


CAPTIONS = {
    "mesh 2": ("A mesh of 8 devices, x: 2 × y: 4", "8 个设备的网格，x: 2 × y: 4"),
    "copies": ("An array float32[8,8] P(None, 'y') in 4 shards (1 × 4)",
               "数组 float32[8,8] P(None, 'y')，共 4 个分片（1 × 4）"),
    "not divided": ("An array float32[8,8] P(), not divided: devices 0–7 each hold all of it",
                    "数组 float32[8,8] P()，没有分开：设备 0–7 各持有全部"),
    "empty": ("An array [0,8] P(None, 'x') without elements on devices 0–7",
              "数组 [0,8] P(None, 'x')，没有元素，位于设备 0–7"),
    "flow": ("predict, mapped: x (float64[8,4,3]) is split, one part for each of 8 devices; params (float32[3,2]) is "
             "copied to every device; the outputs are stacked (float32[8,4,2])",
             "predict 的映射：x（float64[8,4,3]）切成 8 份，每个设备一份；params（float32[3,2]）复制到每个设备；"
             "输出堆叠起来（float32[8,4,2]）"),
    "traffic of 16": ("16 devices (x: 16). collective-permute of 16 bytes along x, 15 times; all-reduce of 16 bytes "
                      "along x",
                      "16 个设备（x: 16）：collective-permute，16 字节，沿 x，15 次；all-reduce，16 字节，沿 x"),
    "torus, two devices a chip": ("A torus of 2x2 chips under the mesh x=2, y=4, in its order: 0 1; 4 5; 2 3; 6 7",
                                  "网格 x=2, y=4 之下的环面，2x2 个芯片，按网格的顺序：0 1；4 5；2 3；6 7"),
    "ring": ("A ring through devices 0, 1, 2, 3, 2048, 2049, 2050, 2051 and back: 2 of 8 hops cross between hosts",
             "环依次经过设备 0, 1, 2, 3, 2048, 2049, 2050, 2051，再回到起点：8 跳中有 2 跳跨主机"),
}  # fmt: skip


def test_a_caption_leaves_out_who_holds_what():
    for name, captions in CAPTIONS.items():
        data = svg.data(GALLERY[name].svg)
        assert tuple(figures.caption(data, "ch01_devices", "other", e) for e in ("en", "zh-Hans")) == captions
    said = {name: figures.caption(svg.data(p.svg), "", "other", "zh-Hans") for name, p in {
        "calls": pictures.calls([["a", "b"], ["b"]]), "curve": pictures.curve({"one device": [3, 1], "b": [2]}),
        "halves": GALLERY["all-reduce"], "plans": GALLERY["plans"]}.items()}  # fmt: skip
    assert said["calls"] == "进程 0 依次调用 a, b；进程 1 依次调用 b。从第 1 次调用起，各进程不再一致"
    assert said["curve"] == (
        "曲线，纵轴为损失，横轴为步数：单个设备：0 处为 3，1 处为 1，最低为 1 处的 1；"
        "b：0 处为 2，0 处为 2，最低为 0 处的 2"
    )
    assert said["halves"].startswith("4 个设备的 all-reduce 分成两半。") and said["halves"].endswith("合起来是 6 块")
    assert said["plans"].endswith("受限于网络；v5e:4x4 16，放不下") and "32 %" in said["plans"]


def test_other_english_words_change_neither_colours_nor_the_caption_s_parts_nor_the_chinese(monkeypatch):
    def seen() -> list[str]:
        drawn = figure(sharded("y", "x", shape=(8, 4)))
        every = (figures.shown(drawn, "ch06_shard_map", "other", 1, edition) for edition in EDITIONS)
        return [re.sub(r"minipod-[0-9a-f]+-\d+", "", markup) for markup in every]

    before, *before_in_chinese = seen()
    monkeypatch.setitem(phrases.ENGLISH, "array", "The array {0}")
    monkeypatch.setitem(phrases.ENGLISH, "holds", "{1} on {0}")
    after, *after_in_chinese = seen()
    assert after_in_chinese == before_in_chinese
    assert "</a> The array [8,4] P('y', 'x') in 8 shards (4 × 2)</figcaption>" in after
    assert "rows 0–1, columns 0–1 on device 0;" in after
    assert [re.findall(r'class="cell c(\d+)"', markup) for markup in (before, after)] == [list("04152637")] * 2


def test_in_the_book_every_picture_says_in_english_what_its_data_say_and_has_a_caption_written_for_it():
    kinds, lessons = set(), chapters.lessons_in(ROOT / "lessons", drafts=False)
    for path in sorted(ROOT.glob("book/outputs/*.json")):
        cells, drawn = json.loads(path.read_text("utf-8"))["cells"], []
        for cell in cells:
            for output in (output for output in cell["outputs"] if figures.OPEN in html(output)):
                data, drawn = svg.data(html(output)), [*drawn, cell["name"]]
                kinds.add(data["kind"])
                plain = "".join(output["data"]["text/plain"]).replace("\n", " ")  # a player's steps, a line each
                assert figures.description(data, "en") == plain, path
        if path.stem in lessons:
            said = f"{path.stem}: the cells that draw, and [[figures]] of chapter.toml"
            assert list(dict.fromkeys(drawn)) == [row.cell for row in chapter_of(path.stem).figures], said
    assert kinds >= {"sharding", "mesh", "traffic", "curve", "devices", "hosts", "calls"}


def test_chinese_words_at_the_side_stand_upright_and_english_ones_are_turned():
    turned = '<text class="small soft" text-anchor="middle" transform="translate(10 60) rotate(-90)">{}</text>'
    upright = figures.upright(turned.format("行，沿 x"))
    assert "rotate" not in upright and "writing-mode:vertical-rl" in upright and "translate(10 60)" in upright
    assert figures.upright(turned.format("rows over x")) == turned.format("rows over x")
