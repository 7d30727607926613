"""Run `python -m lessons COMMAND`: learn, check, class; new for authors."""

import importlib
import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if sys.path[0] in ("", os.getcwd()) and os.path.realpath(os.getcwd()) != HOME:
    # `python -m` puts it there: a rich.py among submissions would be imported
    del sys.path[0]

NEEDS = {"learn": "learn", "check": "learn", "class": "class"}  # extras
COMMANDS = {  # imported by name: what an author runs stands above the lessons
    "learn": "grader.learn.learn_command",
    "check": "grader.run.check_command",
    "class": "grader.classroom.class_command",
    "check a chapter": "publish.author.check_command",
    "new": "publish.author.new_command",
}
USAGE = """\
usage: python -m lessons COMMAND [OPTIONS]

  learn [CHAPTER]       solve the exercises; each save checks your answer
  check                 check all your answers once
  class FOLDER          check the answers of a whole class
  check CHAPTER         check a chapter that you are writing (in a checkout)
  new CHAPTER [NAME]    begin a chapter or an exercise (in a checkout)

Each command has --help; `check CHAPTER --help` is for authors of a chapter.\
"""


def main() -> int:
    """Run one command. Returns the exit status."""
    command, *arguments = sys.argv[1:] or [""]
    if sys.platform == "win32":
        return tell("windows")
    if command == "class":
        import tempfile

        # bytecode that an earlier submission may have left is not read
        sys.pycache_prefix = tempfile.mkdtemp(prefix="class-pycache-")
    from grader.home import BOOK, HERE, is_installed
    from minipod.distribution import missing

    if command == "class" and is_installed(HERE):
        return tell("class-installed")
    if lacking := missing(NEEDS.get(command, ""), BOOK):
        return tell("not-installed", packages=" ".join(lacking))
    installed = is_installed(HERE)
    if command == "new" and installed:
        print(
            "`new` works only in a checkout of the project (git clone).",
            file=sys.stderr,
        )
        return 2
    if command == "check" and of_author(arguments, installed):
        command = "check a chapter"
    if command == "book":
        return tell("book-elsewhere")
    if command not in COMMANDS:
        asked = command in ("-h", "--help")
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    if COMMANDS[command].startswith("publish."):
        sys.path.insert(0, HOME)  # a checkout has `publish`; pip installs none
    return importlib.import_module(COMMANDS[command]).main(arguments)


def of_author(arguments: list[str], installed: bool) -> bool:
    """Return whether `check` checks chapters, not answers to their exercises.

    It does in a checkout that is given chapters, and no option of pytest.
    """
    chapters = [a for a in arguments if not a.startswith("-")]
    options = [a for a in arguments if a.startswith("-")]
    known = ("--optimized", "--shorter", "--root=", "-h", "--help")
    is_known = all(option.startswith(known) for option in options)
    return bool(chapters) and is_known and not installed


def tell(message: str, **values: str) -> int:
    """Print why nothing can be done, in the learner's language. Returns 2."""
    from grader.messages import locale_language, say

    print(say(message, locale_language(), **values), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
