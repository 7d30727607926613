"""`python -m lessons`: `learn`, `check`, `class`; `new` for authors."""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if sys.path[0] in ("", os.getcwd()) and os.path.realpath(os.getcwd()) != HOME:
    # `python -m` puts it there: a rich.py among submissions would be imported
    del sys.path[0]

NEEDS = {"learn": "learn", "check": "learn", "class": "class"}  # extras
USAGE = (
    "python -m lessons learn | check [CHAPTER …] | class FOLDER"
    " | new CHAPTER [NAME] (each has --help)"
)


def main() -> int:
    """Run one subcommand; the exit code."""
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
    if command == "learn":
        from grader.learn.learn_command import main as run
    elif command == "author" or (
        command == "check" and of_author(arguments, is_installed(HERE))
    ):
        from grader.author.author_command import main as run

        if command == "author":
            tell("author-check")
    elif command == "check":
        from grader.run.check_command import main as run
    elif command == "class":
        from grader.classroom.class_command import main as run
    elif command == "new":
        from grader.author.new_command import main as run
    elif command == "book":
        return tell("book-elsewhere")
    else:
        asked = command in ("-h", "--help")
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    return run(arguments)


def of_author(arguments: list[str], installed: bool) -> bool:
    """Whether `check` is to look at chapters themselves, not at your answers.

    In a checkout it does where chapters are named, and no option of pytest.
    """
    chapters = [a for a in arguments if not a.startswith("-")]
    options = [a for a in arguments if a.startswith("-")]
    of_ours = (
        "--optimized",
        "--shorter",
        "--mutants",
        "--seeds=",
        "--root=",
    )
    ours = all(option.startswith(of_ours) for option in options)
    return bool(chapters) and ours and not installed


def tell(message: str, **values: str) -> int:
    """Say why nothing can be done, in the learner's language; exit code 2."""
    from grader.messages import locale_language, say

    print(say(message, locale_language(), **values), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
