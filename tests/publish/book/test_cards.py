"""The cards of links that are shared: one for the book, one for each chapter, with its title and its first picture."""

import struct

import pytest
import small_book
from chromium import Browser, executable

from publish.pages.notebooks import EDITIONS
from publish.print import articles, cards, front, whole


@pytest.fixture(scope="module")
def books():
    html = small_book.real_book()
    return {edition: whole.put_together(html, edition, articles.order()) for edition in EDITIONS}


def test_each_chapter_has_one_with_its_own_picture_and_the_book_has_one(books):
    for edition, book in books.items():
        found = dict(cards.pages(book))
        chapters = [article for article in book.articles if article.number]
        assert list(found) == ["index", *(article.name for article in chapters)] and len(chapters) > 20
        for article in chapters:
            words = book.words["chapter"].format(article.number)
            assert f'<p class="number">{words}</p>' in found[article.name], (edition, article.name)
            drawn = found[article.name].count("<svg") == 1
            own = next(article.body.iter("svg"), None)
            assert drawn and (own is None or own.get("viewBox") in found[article.name])
        assert front.picture().get("viewBox") in found["index"]


@pytest.mark.skipif(executable() is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("edition", ["en", "zh-Hans"])
def test_nothing_of_a_card_is_cut_off(books, tmp_path, edition):
    with Browser() as browser:
        browser.look(cards.WIDTH, cards.HEIGHT)
        for name, page in cards.pages(books[edition]):
            (tmp_path / "card.xhtml").write_text(page, "utf-8")
            browser.open((tmp_path / "card.xhtml").as_uri() + f"?{name}")
            out = f"""[...document.querySelectorAll('p, h1, svg')].filter(e => (r => r.width && (r.left < 0 || r.top < 0
                || r.right > {cards.WIDTH} || r.bottom > {cards.HEIGHT}))(e.getBoundingClientRect())).length"""
            edge = "document.querySelector('{}').getBoundingClientRect().{}"
            apart = f"{edge.format('h1', 'right')} <= {edge.format('svg', 'left')}"
            assert browser.run(out) == 0 and browser.run(apart), name


@pytest.mark.skipif(executable() is None, reason="there is no Chromium on this machine")
def test_they_are_written_as_large_as_sites_ask_for(books, tmp_path, monkeypatch):
    book = books["en"]
    one = [row for row in cards.pages(book) if row[0] == "ch03_sharding"]
    monkeypatch.setattr(cards, "pages", lambda _: iter(one))
    made = cards.write(book, tmp_path)
    assert made == [tmp_path / "html/en/cards/ch03_sharding.png"]
    data = made[0].read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (cards.WIDTH, cards.HEIGHT)
    assert len(data) > 10_000  # no empty sheet
