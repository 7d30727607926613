"""Check the values on the command line; report a wrong one in one sentence."""

import random
from pathlib import Path

import pytest

from grader.exercise.spec import Machine, Settings
from grader.home import home
from grader.messages import LANGUAGES, locale_language, positive, say
from grader.run import own_devices

DEVICES = ("simulated", "real")
LIMIT = "20"  # seconds of one answer


def lang_of(config: pytest.Config) -> str:
    """Return the language of --lang, or else of the locale. Raises pytest.UsageError for an unknown language."""
    value = config.getoption("--lang")
    if value is None:
        return locale_language()
    if value not in LANGUAGES:
        lang = locale_language()
        raise pytest.UsageError(say("bad-language", lang, value=value, languages=", ".join(LANGUAGES)))
    return value


def settings_of(config: pytest.Config, root: Path) -> Settings:
    """Return the run's settings; if no seed is given, draw one and store it in the options, so that xdist shares it."""
    lang = lang_of(config)
    option = config.option
    if option.solutions:
        option.answers = str(root / "solutions")
    folder = Path(option.answers) if option.answers else home(root) / "answers"
    if not folder.is_absolute():
        folder = config.invocation_params.dir / folder
    if option.answers and not folder.is_dir():
        raise pytest.UsageError(say("no-answers", lang, folder=option.answers))
    if option.seed is None:
        option.seed = str(random.randrange(10**6))
    if not option.seed.isdecimal():
        raise pytest.UsageError(say("bad-seed", lang, value=option.seed))
    if option.report and not (config.invocation_params.dir / option.report).parent.is_dir():
        raise pytest.UsageError(say("bad-report", lang, value=option.report))
    machine = _machine(config, lang)
    if option.limit is None:
        option.limit = own_devices.LIMIT if machine else LIMIT
    try:
        limit, memory = (positive(f"--{name}", str(getattr(option, name)), lang) for name in ("limit", "memory"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    return Settings(folder.resolve(), int(option.seed), limit, memory, fork=not option.no_fork, machine=machine)


def _machine(config: pytest.Config, lang: str) -> Machine | None:
    """Return this machine's own devices, with `--device real`."""
    value = config.option.device
    if value not in DEVICES:
        raise pytest.UsageError(say("bad-device", lang, value=value, devices=", ".join(DEVICES)))
    if value == DEVICES[0]:
        return None
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError(say("real-alone", lang))
    try:
        return own_devices.find()
    except own_devices.NoDevices as none:
        raise pytest.UsageError(say(none.message.key, lang, **none.message.values)) from None
