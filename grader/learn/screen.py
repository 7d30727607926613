"""Draw the learner's screen: progress, the current exercise, its verdict, and the keys."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.theme import BUILTIN_THEMES
from textual.widgets import Static
from textual.worker import WorkerError

from grader.learn.dialogs import Choice, Confirm
from grader.learn.line_mode import KEYS, SLOW
from grader.learn.overview import Course
from grader.learn.prose import Prose, hanging, marked
from grader.learn.session import Session
from grader.messages import say

MARKS = {"right": ("■", "ansi_green"), "todo": ("□", ""), "skipped": ("-", "")}
NOT_RIGHT = ("✗", "ansi_red")
CODE = "bold"
NEWS = 15.0  # seconds for which a message stays
NARROW = 24  # cells, below which a column of the list is no good

# The terminal's own colours; of text only what also has a mark or a word, since blue is hard to read on black, and
# cyan and yellow on white.
ANSI = BUILTIN_THEMES["ansi-dark"]
THEME = replace(
    ANSI,
    name="terminal",
    accent="ansi_blue",
    variables=ANSI.variables
    | {
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "bold underline",
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
        "scrollbar": "ansi_bright_black",
        "scrollbar-background": "ansi_default",
    },
)


class Learn(App[None]):
    """The app: one session on the whole terminal."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [Binding("ctrl+c", "quit", show=False, priority=True)]
    CSS = """
    #top { height: 2; padding: 0 2; border-bottom: solid ansi_bright_black; }
    #chapter { width: 1fr; }
    #solved { width: auto; text-style: bold; }
    #title { padding: 0 2; text-style: bold; }
    #place, #page { padding: 0 2; }
    #body { padding: 1 1 0 2; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    #body > Prose { margin: 0 1 1 0; }
    #verdict { padding: 0 1; border-left: outer ansi_yellow; }
    #verdict.right { border-left: outer ansi_green; }
    #verdict.wrong, #verdict.broken, #verdict.hung { border-left: outer ansi_red; }
    #hints { padding: 0 1; border-left: outer ansi_cyan; }
    #solution { padding: 0 1; border-left: outer ansi_blue; }
    #news { height: auto; max-height: 50%; padding: 0 2; }
    #keys { height: auto; padding: 0 2; }
    .quiet { text-style: dim; }
    ModalScreen { align: center middle; background: transparent; }
    #dialog { width: 64; max-width: 90%; height: auto; padding: 1 2; border: round ansi_yellow; }
    #dialog > .quiet { margin-top: 1; }
    #choice { width: 76; max-width: 96%; height: auto; max-height: 90%; padding: 0 1; border: round ansi_blue; }
    #choice > OptionList { height: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    #choice > OptionList > .option-list--option-disabled { color: ansi_default; text-style: bold; }
    """

    def __init__(self, course: Course, limit: float, memory: float) -> None:
        super().__init__(ansi_color=True)
        self.course = course
        self.session = Session(course, self, limit, memory)
        self.title = say("learn-title", course.lang)
        self._solution, self._message, self._shown, self._since = "", "", "", 0.0
        # kept, not looked up: a verdict may come while a dialog is on top
        self._lines = {n: Static(id=n, markup=False) for n in ("chapter", "solved")}
        self._head = {n: Prose(n) for n in ("title", "place", "page")}
        self._foot, self._keys = Prose("news"), Prose("keys")
        self._body = VerticalScroll(id="body")
        self._parts = {n: Prose(n) for n in ("statement", "verdict", "hints", "solution")}
        for key, name in KEYS.items():
            self.bind(key, name, description=say(f"key-{name}", course.lang))

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield from self._lines.values()
        yield from self._head.values()
        with self._body:
            yield from self._parts.values()
        yield self._foot
        yield self._keys

    def on_mount(self) -> None:
        """Start the session."""
        self.register_theme(THEME)
        self.theme = THEME.name
        self._body.focus()
        self._work = self.run_worker(self.session.run())
        self.set_interval(SLOW / 2, self._tick)

    def on_resize(self) -> None:
        """Draw again, because the first line may have more or less room."""
        self.call_after_refresh(self._fill)

    async def on_unmount(self) -> None:
        """Wait until the checker has ended."""
        self._work.cancel()
        with contextlib.suppress(WorkerError):
            await self._work.wait()

    # ---- what the session tells ----

    def exercise_changed(self) -> None:
        self._solution = ""
        self._fill()
        self._body.scroll_home(animate=False)

    def verdict_changed(self) -> None:
        self._fill()
        if self.course.outcomes.get(self.course.current) != "todo":  # then there is the statement to read
            self._reveal("verdict")

    def progress_changed(self) -> None:
        self._fill()

    def show_message(self, sentence: str) -> None:
        self._message, self._since = sentence, time.monotonic()
        self._tick()

    # ---- keys ----

    def action_hint(self) -> None:
        """Handle the key h."""
        self.course.hint()
        self._fill()
        self._reveal("hints")

    def action_list(self) -> None:
        """Handle the key l."""

        def go(chosen: str | None) -> None:
            if chosen is not None:
                self.session.go(chosen)

        self.push_screen(Choice(self._rows, self.course.current, self.course.lang), go)

    def action_next(self) -> None:
        """Handle the key n."""
        self.session.go(self.course.following())

    def action_previous(self) -> None:
        """Handle the key p."""
        self.session.go(self.course.step(-1))

    def action_reset(self) -> None:
        """Handle the key r, confirmed by y."""
        self._ask("reset", self._begin_again)

    def action_solution(self) -> None:
        """Handle the key s, confirmed by y unless the exercise is solved."""
        if self.course.is_right(self.course.current):
            self._show_solution()
        else:
            self._ask("solution", self._show_solution)

    def _ask(self, what: str, act: Callable[[], None]) -> None:
        question = say(f"learn-confirm-{what}", self.course.lang, name=self.course.current.partition(".")[2])
        self.push_screen(Confirm(question, self.course.lang), lambda yes: act() if yes else None)

    def _begin_again(self) -> None:
        self._solution = ""
        self.session.reset()
        self._fill()

    def _show_solution(self) -> None:
        self._solution = self.session.solution()
        self._fill()
        self._reveal("solution")

    # ---- what is shown ----

    def _fill(self) -> None:
        course, exercise = self.course, self.course.current
        self._lines["solved"].update(course.solved())
        self._lines["chapter"].update(self._chapter(exercise.partition(".")[0]))
        self._head["title"].show(Content(course.title(exercise)))
        self._head["place"].show(Content(f"{exercise.partition('.')[2]} · {course.place(exercise)}"))
        self._keys.show(self._keys_within(self.size.width - 2 * 2))
        page = course.page(exercise)
        self._head["page"].show(Content(say("learn-page", course.lang, page=page) if page else ""))
        self._parts["statement"].show(marked(course.statement(exercise), CODE))
        verdict = self._parts["verdict"]
        verdict.set_classes(course.outcomes.get(exercise, ""))
        verdict.show(self._verdict())
        self._parts["hints"].show(marked("\n".join(course.hints.get(exercise, [])), CODE))
        self._parts["solution"].show(Content(self._solution))
        self._tick()

    def _verdict(self) -> Content:
        course, exercise = self.course, self.course.current
        outcome, block = course.outcomes.get(exercise), course.block(exercise)
        if outcome is None:
            return Content("")
        parts = [Content.styled(say(outcome, course.lang), f"bold {MARKS.get(outcome, NOT_RIGHT)[1]}")]
        parts += [marked(line, CODE) for line in block.lines] if block and outcome != "todo" else []
        if outcome == "todo":
            parts.append(Content(say("learn-begin", course.lang, place=course.place(exercise))))
        elif outcome == "right" and all(map(course.is_right, course.exercises)):
            parts.append(Content(say("all-done", course.lang)))
        elif outcome == "right":
            following = course.following().replace(".", "/")
            parts.append(Content(say("learn-goes-on", course.lang, exercise=following)))
        return Content("\n").join(parts)

    def _keys_within(self, width: int) -> Content:
        """Return «h hint  l list …», clickable, in lines of at most `width` cells; a key stays with its word."""
        lines, used = [Content("")], 0
        for key, name in KEYS.items():
            word = say(f"key-{name}", self.course.lang)
            item = Content.from_markup(f"[@click=app.{name}][b]$key[/b] $word[/]", key=key, word=word)
            size = cell_len(item.plain)
            if used and used + 2 + size > width:
                lines.append(Content(""))
                used = 0
            lines[-1] = Content.assemble(lines[-1], "  " if used else "", item)
            used += size + (2 if used else 0)
        return Content("\n").join(lines)

    def _chapter(self, lesson: str) -> Content:
        """Return «ch03 ■■[✗]□ its title»: the current exercise in brackets; the title if all of it fits."""
        marks = []
        for exercise in self.course.of(lesson):
            mark, style = self._mark(exercise)
            marks.append(Content.styled(mark, style))
            if exercise == self.course.current:
                marks[-1] = Content.assemble("[", marks[-1], "]")
        boxes = Content.assemble(Content.styled(lesson.partition("_")[0], "bold"), " ", *marks)
        title = marked(self.course.chapter(lesson) or self.title, "").stylize("dim")
        room = self.size.width - cell_len(boxes.plain) - cell_len(self.course.solved()) - 4 - 2 * 2
        return Content.assemble(boxes, "  ", title) if cell_len(title.plain) <= room else boxes

    def _mark(self, exercise: str) -> tuple[str, str]:
        return MARKS.get(self.course.outcomes.get(exercise, "todo"), NOT_RIGHT)

    def _rows(self, width: int) -> list[tuple[str | None, Content]]:
        """Return the list in `width` cells: below each chapter, columns with mark, outcome, exercise and title."""
        course = self.course
        rows: list[tuple[str | None, Content]] = []
        outcomes = {e: say(course.outcomes.get(e, "todo"), course.lang) for e in course.exercises}
        wide = max(map(cell_len, outcomes.values()))
        for lesson in course.lessons():
            heading = marked(course.chapter(lesson), CODE)
            rows.append((None, hanging(Content(f"{lesson.partition('_')[0]}  "), heading, width)))
            long = max(len(e.partition(".")[2]) for e in course.of(lesson))
            for exercise in course.of(lesson):
                mark, style = self._mark(exercise)
                outcome = f"{mark} {outcomes[exercise]}{' ' * (wide - cell_len(outcomes[exercise]))}"
                head = Content.assemble((outcome, style), "  ")
                name, title = exercise.partition(".")[2], Content(course.title(exercise))
                if width - cell_len(head.plain) - long - 2 >= NARROW:
                    rows.append((exercise, hanging(Content.assemble(head, name.ljust(long), "  "), title, width)))
                else:  # the title below the name
                    rows.append((exercise, hanging(head, Content.assemble(name, "\n", title), width)))
        return rows

    def _reveal(self, name: str) -> None:
        """Scroll to a part, once its new height is known."""
        self.call_after_refresh(self._parts[name].scroll_visible, animate=False)

    def _tick(self) -> None:
        """Show for how long the check has been running, else the last message; fill a terminal that was resized.

        Textual resizes by a timer of 8 ms. If the machine stops the process for so long as the timer starts, Textual
        drops the timer, and every later resize with it (textual/timer.py, skip).
        """
        if self.screen_stack and self.screen.outer_size != self.size:
            self.screen.post_message(Resize(self.size, self.size))
        seconds = self.session.checking() or 0.0
        text = self._message if time.monotonic() - self._since < NEWS else ""
        if seconds > SLOW:
            text = say("learn-checking", self.course.lang, seconds=int(seconds))
        if text != self._shown:
            self._shown = text
            self._foot.show(Content(text))
