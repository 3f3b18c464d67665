"""What a learner does in a lesson: each message of the card is one of ACTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pmdviz.errors import InputError
from pmdviz.lab import links
from pmdviz.lab.panels.lesson.told import NEXT_CLOSED
from pmdviz.lessons.catalogue import LESSONS

TRY_FIRST = "Try once more, or open a hint. Ask again to see a solution."
SOLVED = "This is one solution; it plays now."
COPIED = "The link to this attempt is on the clipboard."
Message = Mapping[str, Any]


def resume(guide: Any, message: Message) -> None:
    """The browser says what it kept of the lesson that it was asked for."""
    lesson, text, before = (message.get(name) for name in ("lesson", "text", "before"))
    if isinstance(lesson, str) and lesson in LESSONS and lesson == guide.card.asked.get("lesson"):
        guide.resume(LESSONS[lesson], *(each if isinstance(each, str) else "" for each in (text, before)))


def answer(guide: Any, message: Message) -> None:
    """Store an answer."""
    part, confidence = (str(message.get(name, "")) for name in ("part", "confidence"))
    guide.progress = guide.progress.answer(part, message.get("value"), confidence)
    guide.publish("")
    guide.watch.look()


def reveal(guide: Any, message: Message) -> None:
    """Reveal the step, and play its run."""
    guide.reveal()
    guide.place.play()


def hint(guide: Any, message: Message) -> None:
    """Open the next hint."""
    guide.progress = guide.progress.hint()
    guide.publish("")


def solution(guide: Any, message: Message) -> None:
    """Play the solution, for who has asked twice or has revealed the step."""
    step = guide.step
    if not step.solution:
        return
    if step.name not in guide.wanted and not guide.progress.is_revealed:
        guide.wanted.add(step.name)
        guide.publish(TRY_FIRST)
        return
    guide.places["lab"].solve(guide.progress.lesson, step)
    guide.publish(SOLVED)


def link(guide: Any, message: Message) -> None:
    """Copy the link to this attempt."""
    last = guide.lab.last
    if last is not None and guide.step.score is not None:
        query = links.attempt_query(guide.progress.lesson.name, guide.step.name, last.recipe)
        guide.lab.screen.actions.put_on_clipboard(query)
        guide.publish(COPIED)


def go_on(guide: Any, message: Message) -> None:
    """To the next step."""
    if guide.progress.may_go_on(guide.may_pass):
        guide.go_on()
    else:
        guide.publish(NEXT_CLOSED)


ACTS: dict[str, Callable[[Any, Message], Any]] = {
    "answer": answer,
    "reveal": reveal,
    "hint": hint,
    "solution": solution,
    "link": link,
    "next": go_on,
    "back": lambda guide, message: guide.go_back(),
    "again": lambda guide, message: guide.begin_again(),
    "leave": lambda guide, message: guide.leave(),
    "following": lambda guide, message: guide.open_following(),
    "list": lambda guide, message: guide.leave("lessons"),
    "forward": lambda guide, message: guide.script.forward(),
    "backward": lambda guide, message: guide.script.backward(),
}


def do(guide: Any, message: Message) -> None:
    """Do what a message says; what is none of ACTS, or comes without a lesson, is what a browser made up."""
    act = message.get("act")
    if act == "resume":
        resume(guide, message)
    elif guide.is_open and isinstance(act, str) and act in ACTS:
        try:
            ACTS[act](guide, message)
        except InputError as error:
            words = str(error)
            guide.publish(f"{words[0].upper()}{words[1:]}.")
