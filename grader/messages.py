"""Provide the sentences of messages.toml, in the learner's language."""

import functools
import math
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
T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """A message in no particular language yet: its key, and the values to fill in, which may be messages, too."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


def locale_language() -> str:
    """Return the language of LC_ALL, LC_MESSAGES or LANG, by languages.toml; en for a locale that it lacks."""
    value = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    value = value.partition(".")[0].replace("-", "_")
    return _LOCALES[max(fitting, key=len)] if (fitting := [x for x in _LOCALES if value.startswith(x)]) else "en"


def nearest_first(lang: str) -> tuple[str, ...]:
    """Return a language, followed by those to use if a text is missing in it."""
    return _FALLBACK[lang]


def languages() -> str:
    """Return the languages for a help text: "en, zh-Hans, zh-Hant"."""
    return ", ".join(LANGUAGES)


def say(key: str, lang: str, **values: Any) -> str:
    """Return the message `key` in `lang`, its {names} filled in. Raises KeyError for an unknown key."""
    text = pick(_messages()[key], lang).format(**values)
    return text if lang == "en" else re.sub(r"(?<=[一-鿿]) (?=[一-鿿])", "", text)  # a space only beside Latin


def positive(option: str, value: str, lang: str, whole: bool = False) -> float:
    """Return an option's number, which must be above 0. Raises ValueError, with a sentence, if it is not."""
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        raise ValueError(say("bad-count" if whole else "bad-number", lang, option=option, value=value))
    return number


def number(n: int | float) -> str:
    """Format a number with commas and, if it is not whole, one digit after the point."""
    # pyrefly: ignore[missing-attribute]
    return f"{n:,.1f}" if isinstance(n, float) and not n.is_integer() else f"{int(n):,}"


def pick(entry: Mapping[str, T], lang: str, otherwise: T | None = None) -> T:
    """Return the entry's text in `lang`, else in its nearest language, else `otherwise`, or raise KeyError."""
    text = next((entry[name] for name in _FALLBACK[lang] if name in entry), otherwise)
    if text is None:
        raise KeyError(lang)
    return text


@functools.cache
def _messages() -> dict[str, dict[str, str]]:
    return read_texts(MESSAGES)


def read_texts(path: Path) -> dict[str, Any]:
    """Read a TOML file of texts, and the files next to it in other languages: words.zh-Hant.toml. Empty if missing."""
    texts = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for lang in LANGUAGES:
        other = path.with_suffix(f".{lang}.toml")
        if other.exists():
            _merge(texts, tomllib.loads(other.read_text(encoding="utf-8")))
    return texts


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
