"""What a page says of itself: description, version, day, how to cite it; and what a published book has beside it."""

import re
import subprocess
from xml.etree import ElementTree

import pytest

from publish.page import EDITIONS, ROOT
from publish.pages import beside_editions, editorial

BASE = "https://host.invalid/book"


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(editorial, "address", lambda: BASE)
    monkeypatch.setattr(beside_editions, "address", lambda: BASE)


def test_a_description_is_whole_sentences():
    first, long = "Who decides? The compiler (in JAX 0.10) does. ", "x" * 300 + "."
    assert editorial.shortened(first + long) == first.strip()
    assert editorial.shortened("你写的是一个数组。谁\n决定？" + "长" * 300 + "。") == "你写的是一个数组。谁 决定？"
    assert len(editorial.shortened(long)) == editorial.LONGEST and editorial.shortened(long).endswith("…")
    assert editorial.shortened("no stop") == "no stop"


def test_a_page_is_cited_with_version_day_and_address(published, monkeypatch):
    monkeypatch.setattr(editorial, "days", lambda: {"book/zh-Hans/ch03_sharding.md": "2026-11-23"})
    about = editorial.About("zh-Hant", "ch03_sharding", "陣列分片", "")
    version = editorial.version()
    said = f"「陣列分片」，載《一份程式，多個裝置》，版本 {version}，2026-11-23，{BASE}/zh-Hant/ch03_sharding.html。"
    assert about.cite() == said
    monkeypatch.setattr(editorial, "days", dict)
    monkeypatch.setattr(editorial, "address", str)
    assert editorial.About("en", "index", "x", "").cite() == f"One Program, Many Devices, version {version}."


def test_the_head_escapes_and_names_the_other_editions_only_where_there_is_an_address(published, monkeypatch):
    about = editorial.About("en", "ch03_sharding", 'a "b" <c>', "d & e")
    head = about.head(["en", "zh-Hans"])
    assert '<meta name="description" content="d &amp; e">' in head and "a &quot;b&quot; &lt;c&gt;" in head
    assert f'<link rel="alternate" hreflang="zh-Hans" href="{BASE}/zh-Hans/ch03_sharding.html">' in head
    monkeypatch.setattr(editorial, "address", str)
    assert "alternate" not in about.head(["en", "zh-Hans"]) and "og:url" not in about.head(["en"])


def test_the_day_is_that_of_the_last_commit(tmp_path):
    def git(*words, day="2026-01-02"):
        env = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env |= {"GIT_AUTHOR_DATE": f"{day}T12:00:00", "GIT_COMMITTER_DATE": f"{day}T12:00:00", "HOME": str(tmp_path)}
        subprocess.run(["/usr/bin/env", "git", *words], cwd=tmp_path, env=env, check=True, capture_output=True)

    days = editorial.days.__wrapped__  # asks anew each time
    assert days(tmp_path) == {}  # no history
    git("init")
    (tmp_path / "book" / "en").mkdir(parents=True)
    for name, day in (("a.md", "2026-01-02"), ("b.md", "2026-03-04")):
        (tmp_path / "book" / "en" / name).write_text(day)
        git("add", ".")
        git("commit", "-m", name, day=day)
    assert days(tmp_path) == {"book/en/a.md": "2026-01-02", "book/en/b.md": "2026-03-04"}


def test_the_sitemap_has_each_page_with_its_other_editions(published, tmp_path, monkeypatch):
    for edition in EDITIONS:
        (tmp_path / edition).mkdir()
        for page in ("index", "ch03_sharding", "search", "genindex"):
            (tmp_path / edition / f"{page}.html").touch()
    (tmp_path / "en" / "extra.html").touch()
    beside_editions.write_for_search_engines(tmp_path)
    root = ElementTree.parse(tmp_path / "sitemap.xml").getroot()
    urls = {entry.findtext(f"{{{beside_editions.SITEMAP}}}loc"): entry for entry in root}
    both = {f"{BASE}/{e}/{p}.html" for e in EDITIONS for p in ("index", "ch03_sharding")}
    assert set(urls) == both | {f"{BASE}/en/extra.html"}
    alternates = urls[f"{BASE}/zh-Hant/index.html"].iter(f"{{{beside_editions.XHTML}}}link")
    others = {link.get("hreflang"): link.get("href") for link in alternates}
    assert others == {e: f"{BASE}/{e}/index.html" for e in EDITIONS} | {"x-default": f"{BASE}/en/index.html"}
    links = re.findall(r'href="([^"]+)"', (tmp_path / "404.html").read_text("utf-8"))
    assert links == [f"{BASE}/{e}/index.html" for e in EDITIONS]
    monkeypatch.setattr(beside_editions, "address", str)  # without an address there is neither
    beside_editions.write_for_search_engines(tmp_path)
    assert not (tmp_path / "404.html").exists() and not (tmp_path / "sitemap.xml").exists()


def test_every_page_has_a_paragraph_that_describes_it():
    for page in sorted((ROOT / "book" / "en").glob("*.md")):
        before = page.read_text("utf-8").partition("\n# ")[2].partition("\n")[2].split("\n## ")[0]
        assert re.search(r"^[\w*]", before, re.M), f"{page.name}: no prose before its first heading"
