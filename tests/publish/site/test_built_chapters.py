"""What a built chapter says at its head, that Chinese quotes stay as they were typed, and that every page is light."""

import functools
import gzip
import re

from small_book import each_edition

from publish import reading_time
from publish.chapter_toml import read_chapters
from publish.page import ROOT

HEADS = {
    "en": "{} minutes to read, {} to solve",
    "zh-Hans": "阅读 {} 分钟，练习 {} 分钟",
    "zh-Hant": "閱讀 {} 分鐘，練習 {} 分鐘",
}


@each_edition
def test_the_head_of_a_built_chapter_says_number_and_minutes(html, edition):
    for chapter in read_chapters(ROOT / "lessons")[0]:
        page = (html / edition / f"{chapter.lesson}.html").read_text("utf-8")
        head = re.search(r'<p class="chapter">(.*?)</p>\s*<h1>', page)
        assert head and head[1].endswith(
            f" · {HEADS[edition].format(reading_time.minutes(chapter.lesson, ROOT), chapter.solve)}"
        ), chapter.lesson
        numbers = re.findall(r'<figcaption><a href="#([\w-]+)">\w+ (\d+\.\d+)</a>', page)
        assert [n for _, n in numbers] == [f"{chapter.number}.{i}" for i in range(1, len(numbers) + 1)]
        assert all(page.count(f'id="{where}"') == 1 for where, _ in numbers)


def test_quotes_in_chinese_stay_as_they_were_typed(html):
    """Sphinx would make 「x」 of the "x" in a hint, which is code."""
    assert "切、被 &quot;y&quot;" in (html / "zh-Hans" / "ch03_sharding.html").read_text("utf-8")


@each_edition
def test_a_first_visit_to_any_page_is_light(html, edition):
    """Page, scripts and style sheets, gzipped, each once. What stands in `<noscript>` is for those without script."""
    weigh, weights = functools.cache(lambda path: len(gzip.compress(path.read_bytes()))), {}
    for page in (html / edition).glob("*.html"):
        text = re.sub(r"(?s)<noscript>.*?</noscript>", "", page.read_text("utf-8"))
        fetched = set(re.findall(r'<(?:script|link)\b[^>]*\b(?:src|href)="(_static/[^"?]+\.(?:js|css))', text))
        assert len(fetched) > 8
        weights[page.stem] = weigh(page) + sum(weigh(page.parent / name) for name in fetched)
    assert {name: weight for name, weight in weights.items() if weight > 152_000} == {}
