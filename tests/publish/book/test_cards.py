"""The cards of links that are shared: one for the book, one for each chapter, with its title and its first picture."""

import struct

import pytest

from publish.pages.notebooks import EDITIONS
from publish.print import articles, cards, front, paper, whole

SOME = [("", name) for name in ("ch01_devices", "ch03_sharding", "ch14_launching")]
LONG = pytest.mark.long
EACH = [("en", SOME), *(pytest.param(e, None, marks=LONG) for e in EDITIONS)]


@pytest.mark.parametrize("edition, chosen", EACH)
def test_the_book_and_each_chapter_have_one_with_its_own_picture_of_which_nothing_is_cut_off(
    html, browser, tmp_path, edition, chosen
):
    book = whole.put_together(html, edition, chosen or articles.order())
    found = dict(cards.pages(book))
    chapters = [article for article in book.articles if article.number]
    assert list(found) == ["index", *(article.name for article in chapters)]
    assert len(chapters) == len(chosen) if chosen else len(chapters) > 20
    for article in chapters:
        words = book.words["chapter"].format(article.number)
        assert f'<p class="number">{words}</p>' in found[article.name], article.name
        own = next(article.body.iter("svg"), None)
        assert found[article.name].count("<svg") == 1 and (own is None or own.get("viewBox") in found[article.name])
    assert front.picture().get("viewBox") in found["index"]
    browser.look(cards.WIDTH, cards.HEIGHT)
    for name, page in found.items():
        (tmp_path / "card.xhtml").write_text(page, "utf-8")
        browser.open((tmp_path / "card.xhtml").as_uri() + f"?{name}")
        out = f"""[...document.querySelectorAll('p, h1, svg')].filter(e => (r => r.width && (r.left < 0 || r.top < 0
            || r.right > {cards.WIDTH} || r.bottom > {cards.HEIGHT}))(e.getBoundingClientRect())).length"""
        edge = "document.querySelector('{}').getBoundingClientRect().{}"
        apart = f"{edge.format('h1', 'right')} <= {edge.format('svg', 'left')}"
        assert browser.run(out) == 0 and browser.run(apart), name


@pytest.mark.skipif(paper.executable() is None, reason="there is no Chromium on this machine")
def test_they_are_written_as_large_as_sites_ask_for(html, tmp_path):
    book = whole.put_together(html, "en", [("", "ch03_sharding")])
    path = tmp_path / "html/en/cards"
    assert cards.write(book, tmp_path) == [path / "index.png", path / "ch03_sharding.png"]
    data = (path / "ch03_sharding.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (cards.WIDTH, cards.HEIGHT)
    assert len(data) > 10_000  # no empty sheet
