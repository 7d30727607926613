"""Fill in the placeholders of a program's arguments: `{process}`, `{processes}`, `{coordinator}`."""

import re
from collections.abc import Mapping, Sequence

# A name alone in braces. `${name}` is another program's; `{"a": 1}`, `{}`, `{0}` and `{x:3}` are no names alone.
_NAME = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|(?<!\$)\{([A-Za-z_]\w*)\}")


def fill(arguments: Sequence[str], process: int, processes: int, coordinator: str) -> list[str]:
    """Return the arguments of one process, with `{process}`, `{processes}` and `{coordinator}` filled in.

    `{{name}}` gives `{name}`, whatever the name; all other braces, such as JSON's, stay as they are. Raises ValueError
    for a name in single braces that is not one of these three.
    """
    values = {"process": str(process), "processes": str(processes), "coordinator": coordinator}
    return [_NAME.sub(lambda found: _value(found, values), argument) for argument in arguments]


def _value(match: re.Match[str], values: Mapping[str, str]) -> str:
    literal, name = match.groups()
    if literal:
        return f"{{{literal}}}"
    if name not in values:
        raise ValueError(
            f"there is no placeholder {{{name}}}, only {{process}}, {{processes}} and {{coordinator}}: to pass "
            f"{{{name}}} to the program, write {{{{{name}}}}}"
        )
    return values[name]
