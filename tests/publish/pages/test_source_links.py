"""Links to the repository, Colab and Binder: all where an address is configured, none where it is not."""

import pytest

from publish.pages import published, source_links
from publish.pages.source_links import Repository

GITHUB = Repository("https://github.com/someone/book")


def configured(folder, text):
    (folder / "_config.yml").write_text(text)
    return source_links.repository(folder)


def test_no_address_no_links(tmp_path):
    assert source_links.repository().url == ""  # the book as it is
    for text in ("title: A book\n", 'repository:\n  url: ""\n', "repository:\n"):
        assert source_links.links(configured(tmp_path, text), "en", "ch03_sharding") == {}
    assert source_links.links(source_links.repository(tmp_path / "nowhere"), "en", "ch03_sharding") == {}


def test_links_of_a_page_on_github_and_what_other_hosts_have(tmp_path):
    found = configured(tmp_path, "repository:\n  url: https://github.com/someone/book.git/\n  branch: dev\n")
    assert source_links.links(found, "zh-Hant", "ch03_sharding") == {
        "source": "https://github.com/someone/book",
        "edit": "https://github.com/someone/book/edit/dev/book/zh-Hans/ch03_sharding.md",
        "colab": "https://colab.research.google.com/github/someone/book/blob/gh-pages/zh-Hant/notebooks/ch03_sharding.ipynb",
        "binder": "https://mybinder.org/v2/gh/someone/book/gh-pages?labpath=zh-Hant/notebooks/ch03_sharding.ipynb",
    }
    for found, kinds in (
        (Repository("https://github.com/someone/book", published=""), {"source", "edit"}),
        (Repository("https://gitlab.example.org/someone/book"), {"source", "edit"}),
        (Repository("https://git.example.org/book"), {"source"}),
    ):
        assert set(source_links.links(found, "en", "start")) == kinds


def test_the_environment_says_where_a_version_is_before_the_configuration_does(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_SITE", "https://someone.github.io/book/")
    assert published.address() == "https://someone.github.io/book"
    monkeypatch.setenv("BOOK_VERSION", "stable")
    monkeypatch.setenv("BOOK_REPOSITORY", "https://github.com/other/fork")
    assert published.address() == "https://someone.github.io/book/stable"
    found = configured(tmp_path, "repository:\n  url: https://github.com/someone/book\n  published: gh-pages\n")
    assert found == Repository("https://github.com/other/fork", "main", "site-stable")
    assert "/other/fork/blob/site-stable/en/" in source_links.links(found, "en", "ch03_sharding")["colab"]


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("BOOK_SITE", "someone.github.io", "BOOK_SITE is «someone.github.io»: give the address of the site"),
        ("BOOK_VERSION", "main", "BOOK_VERSION is «main»: give stable or dev"),
        ("BOOK_REPOSITORY", "someone/book", "BOOK_REPOSITORY is «someone/book»: give its address"),
        ("NOTHING", "", "repository.url is «someone/book»: give its address"),
    ],
)
def test_what_is_no_address_is_one_sentence(tmp_path, monkeypatch, name, value, says):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=says):
        published.address(), published.version(), configured(tmp_path, "repository:\n  url: someone/book\n")


def test_binder_gets_its_python_and_the_package_only_where_it_is_linked(tmp_path):
    source_links.write_environment(tmp_path, Repository())
    assert list(tmp_path.iterdir()) == []
    source_links.write_environment(tmp_path, GITHUB)
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert [line.partition("-")[0] for line in lines] == ["./one_program_many_devices", "./minipod"]
    assert (tmp_path / "runtime.txt").read_text() == "python-3.12\n"
