"""What a built chapter says at its head, and that Chinese quotes stay as they were typed."""

import re

from small_book import each_edition

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
        assert head and head[1].endswith(f" · {HEADS[edition].format(chapter.read, chapter.solve)}"), chapter.lesson
        numbers = re.findall(r'<figcaption><a href="#([\w-]+)">\w+ (\d+\.\d+)</a>', page)
        assert [n for _, n in numbers] == [f"{chapter.number}.{i}" for i in range(1, len(numbers) + 1)]
        assert all(page.count(f'id="{where}"') == 1 for where, _ in numbers)


def test_quotes_in_chinese_stay_as_they_were_typed(html):
    """Sphinx would make 「x」 of the "x" in a hint, which is code."""
    assert "切、被 &quot;y&quot;" in (html / "zh-Hans" / "ch03_sharding.html").read_text("utf-8")
