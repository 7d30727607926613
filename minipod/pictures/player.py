"""Show frames to step through: one at a time on a page with the player's script, otherwise side by side."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minipod.drawing import phrases
from minipod.drawing.phrases import Phrase, alt_text
from minipod.drawing.svg import Canvas, Picture
from minipod.pictures import states, timelines
from minipod.pictures.timelines import Timeline
from minipod.pictures.traces import Trace

_STYLE = re.compile(r"<style>.*?</style>", re.S)


@dataclass(frozen=True)
class Player:
    """A sequence of frames. A notebook shows it like a picture.

    sentences: text of each frame. heard: the same text for screen readers, with what the devices send. alt: all frames
    in words. grows: whether each frame contains the ones before it, so that without a script the last one is enough.
    """

    frames: tuple[Picture, ...]
    sentences: tuple[str, ...]
    heard: tuple[str, ...]
    alt: str
    grows: bool = False

    def _repr_html_(self) -> str:
        shown, last = "", len(self.frames) - 1
        for i, (frame, sentence) in enumerate(zip(self.frames, self.sentences, strict=True)):
            heard = html.escape(self.heard[i])
            svg = _STYLE.sub("", frame.svg) if i else frame.svg  # one style is everybody's
            wide = float(frame.svg.partition('viewBox="')[2].split('"')[0].split()[2])
            look = f"flex:none;width:{round(wide * 1.1)}px;max-width:100%"
            look += ";display:none" if self.grows and i < last else ""
            sentence = html.escape(sentence, quote=False)
            shown += f'<div class="frame" data-heard="{heard}" style="{look}">{svg}'
            shown += f'<p class="said" style="margin:.3em 0">{sentence}</p></div>'
        frames = f'<div class="frames" style="display:flex;flex-wrap:wrap;gap:.8rem 1.6rem">{shown}</div>'
        return f'<figure class="minipod"><div class="player">{frames}</div></figure>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": self.alt}

    def __repr__(self) -> str:
        return self.alt


def play(trace: Trace | Timeline | Sequence[Sequence[Any]], lanes: Sequence[str] = ()) -> Player:
    """Return a player that shows a recorded run step by step.

    trace: a `Trace`, a `Timeline`, or a table of ticks, table[tick][stage] (`timelines.of_table`). lanes: names of the
    stages of a table. Raises TypeError or ValueError if the trace cannot be shown.
    """
    if isinstance(trace, Trace):
        steps = range(len(trace.steps))
        what = ["trace", trace.devices, len(steps)]
        sentences = [states.sentence(trace, i) for i in steps]
        moved, held = ([each(trace, i) for i in steps] for each in (states.moved, states.held))
        return _player([states.canvas(trace, i) for i in steps], states.STYLE, what, sentences, moved, held)
    if not isinstance(trace, Timeline):
        if isinstance(trace, str) or not hasattr(trace, "__iter__"):
            raise TypeError("expected a Trace, a Timeline, or a table of ticks, each with a label for every stage")
        trace = timelines.of_table([list(tick) for tick in trace], lanes)
    steps = range(len(trace.steps))
    what = ["timeline", len(trace.lanes), len(steps)]
    sentences, done = [sentence for _, sentence in trace.steps], [timelines.done(trace, i) for i in steps]
    return _player([timelines.canvas(trace, i) for i in steps], timelines.STYLE, what, sentences, [], done)


def _player(
    drawn: list[Canvas], style: str, what: Phrase, sentences: list[Phrase], moved: list[Phrase], shows: list[Phrase]
) -> Player:
    """Make a player. sentences: text of each frame. moved: what devices sent in it. shows: what its picture shows.

    Without `moved` a frame shows all that the ones before it do.
    """
    if not sentences:
        raise ValueError("there is no step to show: note one first")
    heard = [["colon", s, m] if m else s for s, m in zip(sentences, moved or [""] * len(sentences), strict=True)]
    each = [part for pair in zip(heard, shows, strict=True) for part in pair] if moved else [*sentences, shows[-1]]
    whole = alt_text("play", what, *each, caption=what)
    frames = []
    for i, canvas in enumerate(drawn):
        canvas.add("style", style)
        kept = alt_text("frame", shows[i]) | {"step": sentences[i], "heard": heard[i]} | ({} if i else {"play": whole})
        frames.append(canvas.picture(kept))
    shown, more = ([f"{phrases.in_words(s)}." for s in each] for each in (sentences, heard))
    alt = "\n".join(f"{phrases.in_words(s)}." for s in whole["says"])
    return Player(tuple(frames), tuple(shown), tuple(more), alt, grows=not moved)
