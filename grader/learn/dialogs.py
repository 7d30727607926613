"""Ask on the screen: yes or no, and which exercise."""

from collections.abc import Callable
from typing import TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from grader.messages import say

T = TypeVar("T")


def _close(dialog: ModalScreen[T], result: T) -> None:
    """Close with the result, only once: a second key may already have been on its way."""
    if dialog.is_active:
        dialog.dismiss(result)


class Confirm(ModalScreen[bool]):
    """A question: y means yes, any other key no."""

    def __init__(self, question: str, lang: str) -> None:
        super().__init__()
        self.question, self.lang = question, lang

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self.question, markup=False)
            yield Static(say("learn-yes", self.lang), markup=False, classes="quiet")

    def on_key(self, event: Key) -> None:
        """Close the dialog with the answer."""
        event.stop()
        _close(self, event.key == "y")


class Choice(ModalScreen[str | None]):
    """The list of exercises; Enter returns one, Esc none.

    rows  returns, for a width in cells, the lines of each entry of the list, with its exercise or, for a heading, None
    """

    BINDINGS = [Binding("escape,l,q", "close", show=False)]

    def __init__(self, rows: Callable[[int], list[tuple[str | None, Content]]], current: str, lang: str) -> None:
        super().__init__()
        self.rows, self.current, self.lang = rows, current, lang
        self._list, self._width = OptionList(compact=True), 0

    def compose(self) -> ComposeResult:
        with Vertical(id="choice"):
            yield self._list
            yield Static(say("learn-choose", self.lang), markup=False, classes="quiet")

    def on_mount(self) -> None:
        """Begin at the current exercise."""
        self.call_after_refresh(self._fill)

    def on_resize(self, event: Resize) -> None:
        """Break the lines again."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        self._list.styles.max_height = max(1, self.app.size.height * 9 // 10 - 3)  # the border, a line for the keys
        width = self._list.scrollable_content_region.width
        if width == self._width or width < 1:
            return
        at = self._list.highlighted_option
        here = at.id if at and at.id else self.current.replace(".", "-")
        self._width = width
        self._list.clear_options()
        rows = self.rows(width)
        self._list.add_options(
            Option(text, id=exercise and exercise.replace(".", "-"), disabled=exercise is None)
            for exercise, text in rows
        )
        self._list.highlighted = self._list.get_option_index(here)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the chapter's name above the first exercise."""
        if event.option_index == 1:
            self.call_after_refresh(self._list.scroll_home, animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Handle Enter."""
        _close(self, (event.option_id or "").replace("-", ".") or None)

    def action_close(self) -> None:
        """Handle Esc."""
        _close(self, None)
