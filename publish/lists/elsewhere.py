"""What other systems call a chapter's things: a table on its page, all tables and an index on a page of their own.

They come from [[elsewhere]] in chapter.toml; `make sync` puts them between `% elsewhere` and `% end elsewhere`.
"""

from collections.abc import Iterator

from publish.chapter_tables import WORLDS, Called, Elsewhere
from publish.chapter_toml import Chapter
from publish.pages import terms

PAGE = "elsewhere"


def section(chapter: Chapter, edition: str) -> Iterator[str]:
    """The lines of a chapter's section: heading, table, and where all of them are."""
    words = terms.ui()
    yield f"({_label(chapter)})="
    yield f"## {words['elsewhere'][edition]}"
    yield ""
    yield from _table(chapter.elsewhere, edition)
    yield ""
    yield words["elsewhere_all"][edition]


def gathered(found: list[Chapter], edition: str) -> Iterator[str]:
    """The lines of the page of all chapters: the tables in the order of the book, then the index."""
    words = terms.ui()
    for chapter in found:
        if chapter.elsewhere:
            yield f"(sec-elsewhere-ch{chapter.number:02})="
            yield f"## {{doc}}`{chapter.lesson}`"
            yield ""
            yield from _table(chapter.elsewhere, edition)
            yield ""
    yield "(sec-elsewhere-index)="
    yield f"## {words['elsewhere_index'][edition]}"
    yield ""
    for word, where in sorted(_index(found, edition).items(), key=lambda item: (item[0].lower(), item[0])):
        links = [f"{{ref}}`{words['chapter'][edition].format(c.number)} <{_label(c)}>`" for c in where]
        yield f"- {word}{words['elsewhere_colon'][edition]}{words['elsewhere_and'][edition].join(links)}"


def _label(chapter: Chapter) -> str:
    return f"sec-ch{chapter.number:02}-elsewhere"


def _index(found: list[Chapter], edition: str) -> dict[str, list[Chapter]]:
    """The chapters of each word, in their order."""
    index: dict[str, list[Chapter]] = {}
    for chapter in found:
        for word in dict.fromkeys(word for row in chapter.elsewhere for word in row.words[edition]):
            index.setdefault(word, []).append(chapter)
    return index


def _table(rows: tuple[Elsewhere, ...], edition: str) -> Iterator[str]:
    """The rows; a world that has no word for any of them gets no column."""
    words = terms.ui()
    worlds = [name for name in WORLDS if any(getattr(row, name) for row in rows)]
    yield f"| {' | '.join(words[f'elsewhere_{name}'][edition] for name in ('here', *worlds))} |"
    yield f"|{'---|' * (1 + len(worlds))}"
    for row in rows:
        cells = [row.here[edition], *(_called(getattr(row, name), edition) for name in worlds)]
        yield f"| {' | '.join(cells)} |"


def _called(called: Called | None, edition: str) -> str:
    if not called:
        return "—"
    kind = "elsewhere_a_paper" if called.source.startswith("https://arxiv.org/") else "elsewhere_source"
    return f"{called.said[edition]} [{terms.ui()[kind][edition]}]({called.source})"
