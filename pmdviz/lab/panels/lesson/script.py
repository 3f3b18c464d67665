"""A lesson as a script for a lecture hall: its steps part by part, the gates open."""

from __future__ import annotations

from typing import Any

from pmdviz.lab.panels.lesson.told import parts_of


class Script:
    """Where a presenter is within a step; `guide` is asked to show it."""

    def __init__(self, guide: Any) -> None:
        self._guide, self.on, self._at = guide, False, 0

    @property
    def part(self) -> str:
        """The part of the step that is shown; "" for all of them."""
        return parts_of(self._guide.progress)[self._at] if self.on and self._guide.is_open else ""

    def present(self, on: bool) -> None:
        """One part at a time, or all of them again."""
        self.on, self._at = on, 0
        self._guide.show_part()

    def begin(self) -> None:
        """Another step: at its first part."""
        self._at = 0

    def forward(self) -> None:
        """The next part, where to reveal plays the run; after the last part the next step."""
        guide = self._guide
        if not self.on or guide.progress.done:
            return
        if self._at + 1 >= len(parts_of(guide.progress)):
            guide.go_on()
            return
        self._at += 1
        if self.part == "reveal" and not guide.progress.is_revealed:
            guide.reveal()
            guide.place.play()
        guide.show_part()

    def backward(self) -> None:
        """The part before; before the first one the last of the step before."""
        guide = self._guide
        if not self.on:
            return
        if self._at > 0 and not guide.progress.done:
            self._at -= 1
        elif guide.go_back():
            self._at = len(parts_of(guide.progress)) - 1
        guide.show_part()
