"""Provide `import lessons` in a notebook: begin, check, hint, solution, blank.

A reader's mistake raises no exception: the cell shows one sentence, in the notebook's language.
"""

import difflib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from grader.exercise import answers, function_text
from grader.exercise.lesson_words import exercise_words
from grader.exercise.progress import all_exercises
from grader.home import BOOK, HERE
from grader.messages import LANGUAGES, locale_language, pick, say
from grader.notebook import blank_cells, displayed
from grader.notebook.cells import Gathered, NotRun, Unseen, gather
from grader.notebook.checker import Checker, Lost
from grader.notebook.displayed import COLOURS, OTHER, Code, Message
from grader.run.service_messages import Failed
from minipod import distribution

SUBJECT = ("jax", "jaxlib")  # what the package is about must be of a version that it is written for


class Desk:
    """The exercises below `root`, for the notebook whose kernel this is.

    limit   seconds that one answer may run
    memory  GiB for each of its processes
    """

    def __init__(self, root: Path = HERE, limit: float = 20, memory: float = 2) -> None:
        self.root, self.limit, self.memory = root, limit, memory
        self.lang, self.chapter = locale_language(), ""
        self._exercises = all_exercises(root / "lessons")
        self._hints: dict[str, int] = {}  # how many were given of each exercise
        self._right: set[str] = set()  # those that were right when they were last checked here
        self._checker: Checker | None = None

    def begin(self, language: str = "", chapter: str = "", digest: str = "") -> Message | None:
        """Set the language of the messages and the chapter of this notebook; return a message if something is wrong.

        A chapter's cells then run in a folder of their own, such as `ch16_capstone-files`.

        language  en, zh-Hans or zh-Hant
        digest    that of the chapter's exercises in the notebook, from `blank_cells.digest`
        """
        if chapter:
            _go_to_folder(f"{chapter}-files")
        if language and language not in LANGUAGES:
            return self._say("bad-language", value=language, languages=", ".join(LANGUAGES))
        if self._checker and language not in ("", self.lang):
            self._checker.end()
            self._checker = None
        self.lang, self.chapter = language or self.lang, chapter
        for name in SUBJECT:
            installed, oldest = metadata.version(name), distribution.OLDEST_JAX
            if distribution.numbers(installed) < oldest:
                return self._say("notebook-jax", needs=f"{name}>={distribution.dotted(oldest)}", found=installed)
        if digest and digest != blank_cells.digest(self.root / "lessons" / chapter):
            return self._say("notebook-other", package=BOOK)
        if distribution.is_untried(jax := metadata.version("jax")):
            return self._say("notebook-untried", found=jax, newest=distribution.dotted(distribution.NEWEST_JAX))
        return None

    def check(self, exercise: str) -> Message:
        """Check whether your answer is right, and if it is not, show what it did: `lessons.check("read_layout")`.

        The check takes the function of this name as it is in the notebook now, with what it uses from other cells:
        imports, functions, numbers and strings. It runs in a separate process, which is ended when its time is up.
        """
        return self._about(exercise, self._checked)

    def hint(self, exercise: str) -> Message:
        """Show the next hint; after the last one, the last again."""
        return self._about(exercise, self._hint)

    def solution(self, exercise: str) -> Message | Code:
        """Show a function that solves the exercise."""
        return self._about(exercise, lambda exercise: Code(self._solution(exercise)))

    def blank(self, exercise: str) -> Message | Code:
        """Show the blank of the exercise again, so that you can start over."""
        return self._about(exercise, lambda exercise: Code(blank_cells.blank_cell(*self._blank(exercise), self.lang)))

    # ---- one exercise ----

    def _about(self, asked: Any, answer: Callable[[str], Any]) -> Any:
        """Return the result of `answer` for an exercise called `read_layout` or `ch03_sharding.read_layout`."""
        name = str(getattr(asked, "__name__", asked)).replace("/", ".")
        if exercise := next((e for e in self._exercises if name in (e, e.partition(".")[2])), ""):
            return answer(exercise)
        names = [e.partition(".")[2] for e in self._exercises]
        of_chapter = [e.partition(".")[2] for e in self._exercises if e.startswith(f"{self.chapter}.")]
        known = difflib.get_close_matches(name, names, 3) or of_chapter or names
        return self._say("notebook-unknown", name=name, known=", ".join(f"`{n}`" for n in known))

    def _checked(self, exercise: str) -> Message:
        lesson, _, name = exercise.partition(".")
        shell = _shell()
        if shell is None:
            return self._say("notebook-elsewhere")
        demo = self.root / "lessons" / lesson / "demo.py"
        shown = demo.read_text("utf-8") if demo.exists() else ""
        try:
            file = gather(name, shell.history_manager.input_hist_parsed, shell.user_ns, shown)
        except NotRun:
            return self._say("notebook-not-run", name=name)
        except Unseen as error:
            key = "notebook-unseen" if error.name == name else "notebook-unseen-other"
            return self._say(key, name=name, other=error.name)
        checker = self._checker = self._checker or Checker(self.root, self.lang, self.limit, self.memory)
        path = checker.answers / f"{lesson}.py"
        path.write_text(file.text, "utf-8")
        if answers.is_blank(answers.read(path), *self._blank(exercise)):
            return self._verdict(exercise, "todo", say("todo-text", self.lang))
        try:
            with displayed.meanwhile(self._say("notebook-checking", name=name, limit=f"{self.limit:g}")):
                reply = checker.check(exercise)
        except Lost as error:
            return self._say("notebook-lost", error=error)
        if isinstance(reply, Failed):
            return self._say("own-fault", error=reply.error)
        return self._verdict(exercise, reply.outcome, _placed(reply.message, path, file, self.lang))

    def _verdict(self, exercise: str, outcome: str, message: str) -> Message:
        name = exercise.partition(".")[2]
        title = pick(exercise_words(self.root / "lessons", exercise).title, self.lang, "")
        head = " · ".join(filter(None, [name, title]))
        self._right = self._right | {exercise} if outcome == "right" else self._right - {exercise}
        if outcome == "right":
            message = self._after(exercise, name)
        elif outcome != "skipped":
            message = f"{message}\n{say('notebook-next', self.lang, name=name)}"
        return Message(message, self.lang, head, say(outcome, self.lang), COLOURS.get(outcome, OTHER))

    def _after(self, exercise: str, name: str) -> str:
        """Say how many exercises of the chapter are right, and which one is next."""
        lesson = exercise.partition(".")[0]
        of_lesson = [e for e in self._exercises if e.startswith(f"{lesson}.")]
        left = [e.partition(".")[2] for e in of_lesson if e not in self._right]
        key, right = "notebook-right" if left else "notebook-all-right", len(of_lesson) - len(left)
        return say(key, self.lang, name=name, k=right, n=len(of_lesson), next=next(iter(left), ""))

    def _hint(self, exercise: str) -> Message:
        label, name = exercise.replace(".", "/"), exercise.partition(".")[2]
        hints = pick(exercise_words(self.root / "lessons", exercise).hints, self.lang, [])
        if not hints:
            return self._say("hint-none", exercise=label)
        count = self._hints[exercise] = min(self._hints.get(exercise, 0) + 1, len(hints))
        text = say("hint", self.lang, n=count, total=len(hints), exercise=label, text=hints[count - 1].strip())
        if count == len(hints):
            text += "\n" + say("notebook-hint-last", self.lang, name=name)
        return Message(text, self.lang)

    def _solution(self, exercise: str) -> str:
        lesson, _, name = exercise.partition(".")
        return (function_text.text_of(self.root / "solutions" / f"{lesson}.py", name) or "").rstrip()

    def _blank(self, exercise: str) -> tuple[Path, str]:
        """Return the file that has an exercise's blank, and the exercise's name there."""
        lesson, _, name = exercise.partition(".")
        return self.root / "lessons" / lesson / "exercises.py", name

    def _say(self, key: str, **values: Any) -> Message:
        return Message(say(key, self.lang, **values), self.lang)


@functools.cache
def desk() -> Desk:
    """Return this kernel's desk."""
    return Desk()


def _go_to_folder(name: str) -> None:
    """Change to a separate folder, so that cells that write and delete files (`train.py`, `runs`) spare others."""
    if Path.cwd().name != name:
        try:
            os.makedirs(name, exist_ok=True)
            os.chdir(name)
        except OSError:  # a file is called like that, or nothing may be made here
            os.chdir(tempfile.mkdtemp(prefix=name))


def _shell() -> Any:
    """Return IPython's shell; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _placed(message: str, path: Path, file: Gathered, lang: str) -> str:
    """Return the message with places in cells instead of places in the checked file."""

    def place(m: re.Match[str]) -> str:
        line = int(m[1] or 0)
        origin = file.origin[line - 1] if 0 < line <= len(file.origin) else None
        return say("notebook-place", lang, cell=origin[0], line=origin[1]) if origin else say("notebook-cells", lang)

    return re.sub(rf"{re.escape(str(path))}(?::(\d+))?", place, message)
