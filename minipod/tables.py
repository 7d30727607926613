"""Show a table of strings in a terminal or on a page.

Functions of other modules return such tables. A notebook shows them as HTML.

    >>> from minipod.tables import Table
    >>> rows = ("all-reduce", "448"), ("all-gather", "1,792")
    >>> print(Table(("collective", "bytes"), rows, sum=("sent", "2,240")))
    collective  bytes
    all-reduce    448
    all-gather  1,792
    sent: 2,240
"""

import html
import unicodedata
from dataclasses import dataclass

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Rows of strings under `columns`.

    left: the positions of the columns of words, which are aligned left; the others are numbers, aligned right.
    kind: the class of the HTML element, in addition to `minipod`. empty: the text if there are no rows.
    sum: (label, number) for a line below the rows; on a page, the number is in the last column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = (0,)
    kind: str = "table"
    empty: str = ""
    sum: tuple[str, str] | None = None

    def __str__(self) -> str:
        if not self.rows:
            return self.empty
        lines = [self.columns, *self.rows]
        widths = [max(_width(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(map(self._set, range(len(line)), line, widths)).rstrip() for line in lines]
        return "\n".join([*text, *([": ".join(self.sum)] if self.sum else [])])

    __repr__ = __str__

    def _set(self, column: int, cell: str, width: int) -> str:
        blank = " " * (width - _width(cell))
        return cell + blank if column in self.left else blank + cell

    def _repr_html_(self) -> str:
        if not self.rows:
            return f'<p class="minipod {self.kind}">{html.escape(self.empty)}</p>'
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{''.join(map(self._cell, range(len(row)), row))}</tr>" for row in self.rows)
        return (
            f'<table class="minipod {self.kind}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody>{self._foot()}</table>"
        )

    def _cell(self, column: int, content: str) -> str:
        right = "" if column in self.left else ' style="text-align: right"'
        return f"<td{right}>{html.escape(content)}</td>"

    def _foot(self) -> str:
        if not self.sum:
            return ""
        last = len(self.columns) - 1
        name = f'<th scope="row" colspan="{last}">{html.escape(self.sum[0])}</th>'
        return f"<tfoot><tr>{name}{self._cell(last, self.sum[1])}</tr></tfoot>"


def _width(text: str) -> int:
    """Return the columns that a text takes in a terminal: two for a Chinese character."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
