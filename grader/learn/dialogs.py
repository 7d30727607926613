"""What the screen asks: yes or no, and which exercise."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from grader.messages import say


class Confirm(ModalScreen[bool]):
    """A question; y is yes, any other key no."""

    def __init__(self, question: str, lang: str) -> None:
        super().__init__()
        self.question, self.lang = question, lang

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self.question, markup=False)
            yield Static(say("learn-yes", self.lang), markup=False, classes="quiet")

    def on_key(self, event: Key) -> None:
        """The answer."""
        event.stop()
        self.dismiss(event.key == "y")


class Choice(ModalScreen[str | None]):
    """The list of exercises; Enter gives one, Esc none."""

    BINDINGS = [Binding("escape,l,q", "dismiss(None)", show=False)]

    def __init__(self, rows: list[tuple[str, Content]], current: int, lang: str) -> None:
        super().__init__()
        self.rows, self.current, self.lang = rows, current, lang

    def compose(self) -> ComposeResult:
        with Vertical(id="choice"):
            yield OptionList(*(Option(text, id=name.replace(".", "-")) for name, text in self.rows), compact=True)
            yield Static(say("learn-choose", self.lang), markup=False, classes="quiet")

    def on_mount(self) -> None:
        """Begin at the exercise at hand."""
        self.query_one(OptionList).highlighted = self.current

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter."""
        self.dismiss(self.rows[event.option_index][0])
