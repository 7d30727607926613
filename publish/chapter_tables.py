"""Read the tables of chapter.toml for readers: captions of pictures, and other systems' names for a chapter's terms."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WRITTEN = ("en", "zh-Hans")  # the languages, and editions, that are written by hand; zh-Hant is derived
WORLDS = ("torch", "megatron", "paper")  # the systems whose terms are shown next to ours, one column each


@dataclass(frozen=True)
class Caption:
    """The caption of a cell's picture, by language; without it, the picture's own description is used."""

    cell: str
    said: dict[str, str]


@dataclass(frozen=True)
class Called:
    """The name of a term in some system, by language, and its source."""

    said: dict[str, str]
    source: str


@dataclass(frozen=True)
class Elsewhere:
    """One term under the names of other systems; None if a system has no word of its own.

    here      the book's name, by language
    torch     the name in PyTorch, NCCL and their launchers
    megatron  the name in Megatron-LM, DeepSpeed and the papers behind them
    paper     the name in the paper that introduced it, if it is not in these libraries
    words     by language, the words for which a reader may search: the entries of the index
    """

    here: dict[str, str]
    torch: Called | None
    megatron: Called | None
    paper: Called | None
    words: dict[str, list[str]]


def captions(rows: list[dict[str, Any]]) -> tuple[Caption, ...]:
    """Return the rows of [[figures]], which `wrong` has checked before."""
    return tuple(Caption(row["cell"], _both(row)) for row in rows)


def elsewhere(rows: list[dict[str, Any]]) -> tuple[Elsewhere, ...]:
    """Return the rows of [[elsewhere]], which `wrong` has checked before."""
    return tuple(
        Elsewhere(
            here=_both(row["here"]),
            torch=_called(row.get("torch")),
            megatron=_called(row.get("megatron")),
            paper=_called(row.get("paper")),
            words=_both(row["words"]),
        )
        for row in rows
    )


def _called(row: dict[str, str] | None) -> Called | None:
    return Called(_both(row), row["source"]) if row else None


def _both(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's text in each language; if one is missing, the text of the other language takes its place."""
    text = next(row[language] for language in WRITTEN if language in row)
    return {language: row.get(language, text) for language in WRITTEN}


def languages(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the languages of a chapter or an exercise: both, or the one that `only` names."""
    return (facts["only"],) if facts.get("only") in WRITTEN else WRITTEN


def wrong(facts: dict[str, Any], languages: tuple[str, ...] = WRITTEN) -> Iterator[str]:
    """Yield a sentence for each fault of [[figures]] and [[elsewhere]] in these languages."""
    for row in _rows(facts, "figures"):
        if not isinstance(row, dict) or set(row) != {"cell", *languages} or not all(map(is_text, row.values())):
            yield f"one of [[figures]] must have cell, {' and '.join(languages)}, and nothing else"
            return
    for number, row in enumerate(_rows(facts, "elsewhere"), 1):
        where = f"[[elsewhere]] {number}"
        if not isinstance(row, dict):
            yield f"{where} is not a table: write `[[elsewhere]]` and, below it, here, torch, megatron and words"
            return
        if odd := sorted(set(row) - {"here", *WORLDS, "words"}):
            yield f"{where}: `{odd[0]}` is not a known key: choose from here, {', '.join(WORLDS)} and words"
        for key in ("here", "words"):
            yield from (
                f"{where}: {key}.{language} is missing: write it" for language in _lacks(row.get(key), languages)
            )
        if not set(WORLDS) & set(row):
            yield f"{where}: {', '.join(WORLDS)} are missing: write at least one of them"
        for key in WORLDS:
            if key in row:
                yield from _called_wrong(f"{where}: {key}", row[key], languages)


def _called_wrong(where: str, row: Any, languages: tuple[str, ...]) -> Iterator[str]:
    yield from (f"{where}.{language} is missing: write it" for language in _lacks(row, languages))
    if isinstance(row, dict) and (odd := sorted(set(row) - {*WRITTEN, "source"})):
        yield f"{where}: `{odd[0]}` is not a known key: choose from en, zh-Hans and source"
    if not isinstance(row, dict) or not str(row.get("source", "")).startswith("https://"):
        yield f"{where}.source is missing: give the address of a page that uses the term, https://…"


def _rows(facts: dict[str, Any], key: str) -> list[Any]:
    rows = facts.get(key, [])
    return rows if isinstance(rows, list) else [rows]


def _lacks(table: Any, languages: tuple[str, ...]) -> list[str]:
    """Return the languages in which a table has no text."""
    existing = table if isinstance(table, dict) else {}
    return [language for language in languages if not _is_text(existing.get(language))]


def _is_text(value: Any) -> bool:
    return bool(value) and all(map(is_text, value)) if isinstance(value, list) else is_text(value)


def is_text(value: Any) -> bool:
    """Return whether a value is a string that is not empty."""
    return isinstance(value, str) and bool(value.strip())
