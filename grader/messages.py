"""What the checks say, in the learner's language: messages.toml."""

import functools
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

MESSAGES = Path(__file__).with_name("messages.toml")
_TABLES = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
LANGUAGES = tuple(_TABLES)
_FALLBACK = {lang: (lang, *table["nearest"]) for lang, table in _TABLES.items()}
_LOCALES = {locale: lang for lang, table in _TABLES.items() for locale in table["locales"]}
_BEGINS = re.compile(r"^(?:\[([\w-]+)\]$|([\w-]+)\.[\w-]+ = )", re.M)  # a table, or a line of a derived file
T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """A message that is not yet in a language: its key, and the values to fill in, which may be messages, too."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


def locale_language() -> str:
    """The language of LC_ALL, LC_MESSAGES or LANG: zh_TW and zh_HK give zh-Hant, other zh zh-Hans; where languages.toml
    has none for it, en."""
    value = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    value = value.partition(".")[0].replace("-", "_")
    return _LOCALES[max(fitting, key=len)] if (fitting := [x for x in _LOCALES if value.startswith(x)]) else "en"


def nearest_first(lang: str) -> tuple[str, ...]:
    """A language, then those that are read where something is not said in it."""
    return _FALLBACK[lang]


def languages() -> str:
    """Their names in a list, for a help text: «en, zh-Hans, zh-Hant»."""
    return ", ".join(LANGUAGES)


def say(key: str, lang: str, **values: Any) -> str:
    """The message `key` in `lang`, its {names} filled in. Raises KeyError for an unknown key."""
    text = pick(_entry(key, lang), lang).format(**values)
    return text if lang == "en" else re.sub(r"(?<=[一-鿿]) (?=[一-鿿])", "", text)  # a space only beside Latin


def number(n: int | float) -> str:
    """A number with commas; where it is not whole, with one digit after the point."""
    # pyrefly: ignore[missing-attribute]
    return f"{n:,.1f}" if isinstance(n, float) and not n.is_integer() else f"{int(n):,}"


def pick(entry: Mapping[str, T], lang: str, otherwise: T | None = None) -> T:
    """What the entry says in `lang`, else in the nearest language that it has, else `otherwise`, or a KeyError."""
    found = next((entry[name] for name in _FALLBACK[lang] if name in entry), otherwise)
    if found is None:
        raise KeyError(lang)
    return found


@functools.cache
def _entry(key: str, lang: str) -> dict[str, str]:
    """One message, in the languages that are read for `lang`; all of them would take a tenth of a chapter's check."""
    entry: dict[str, str] = {}
    for path in (MESSAGES, *(MESSAGES.with_suffix(f".{name}.toml") for name in nearest_first(lang))):
        if key in (pieces := _pieces(path)):
            entry |= tomllib.loads(pieces[key])[key]
    if not entry:
        raise KeyError(key)
    return entry


@functools.cache
def _pieces(path: Path) -> dict[str, str]:
    """The text of each message in a file, by its key; none where there is no file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    begins = [*_BEGINS.finditer(text)]
    ends = [*(begin.start() for begin in begins[1:]), len(text)]
    return {begin[1] or begin[2]: text[begin.start() : end] for begin, end in zip(begins, ends, strict=False)}


def read(path: Path) -> dict[str, Any]:
    """A file of words with what stands beside it for other languages: words.zh-Hant.toml. Empty where there is none."""
    words = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for lang in LANGUAGES:
        other = path.with_suffix(f".{lang}.toml")
        if other.exists():
            _merge(words, tomllib.loads(other.read_text(encoding="utf-8")))
    return words


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
