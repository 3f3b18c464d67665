"""The playback bar: always in sight, the same buttons in the app and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.loop.live import PACES, SLOW, Pace, menu
from pmdviz.lab.loop.locked import handed

BUTTONS = {  # label -> act; Play is also Pause, and at the end of the budget Replay
    "Restart": "restart",
    "Back": "back",
    "Play": "toggle",
    "Step": "step",
    "Continue": "proceed",
    "Replay": "replay",
}
STEPS = ("Play", "Step", "Continue", "Replay")  # those that make steps of the run


def iterations(number: int) -> str:
    """So many iterations."""
    return f"{number:,} iteration{'s' * (number > 1)}"


class PlaybackBar:
    """Buttons and speed; `act(name)` is called for a button, `pace(pace)` for another speed.

    The large button says what comes next: Play, Pause, or Replay once the budget is used up; then Continue stands in
    the place of Step. Before the end Replay is a button of its own: with knobs changed on the way it is not Restart.
    """

    def __init__(
        self,
        act: Callable[[str], None],
        pace: Callable[[Pace], None],
        count: Callable[[int], str] = iterations,
        buttons: Mapping[str, str] = BUTTONS,
    ) -> None:
        self._playing = self._over = self._closed = self._held = False
        self._standing = (False, False, True, False)  # what `enable` was told last
        self.buttons = {label: self._button(label, buttons[label], act) for label in buttons}
        self.speed = pn.widgets.Select(
            label="Speed",
            options=menu(count),
            value=SLOW.name,
            width=150,
            margin=0,
            css_classes=["pmdviz-speed"],
            stylesheets=[css.SELECT],
        )
        self.speed.param.watch(handed(lambda event: pace(PACES[event.new])), "value")
        self.view = pn.Row(
            *self.buttons.values(),
            self.speed,
            css_classes=["pmdviz-transport"],
            sizing_mode="stretch_width",
            margin=0,
            stylesheets=[css.TRANSPORT],
        )
        self.enable(ready=False, done=False)

    def _button(self, label: str, name: str, act: Callable[[str], None]) -> Any:
        main = label == "Play"
        made = pn.widgets.Button(
            label=label,
            color="primary" if main else "default",
            variant="solid" if main else "outline",
            margin=0,
            stylesheets=[css.BUTTON],
            css_classes=_classes(label, True),
            sizing_mode="stretch_width",
        )
        made.on_click(handed(lambda event: act(name)))
        return made

    def set_large(self, on: bool) -> None:
        """For a lecture hall Play alone; the keys do what the other buttons do."""
        classes = ["pmdviz-transport"] + (["pmdviz-large"] if on else [])
        if self.view.css_classes != classes:
            self.view.css_classes = classes

    def playing(self, on: bool) -> None:
        """The large button says what a press would do."""
        self._playing = on
        label = "Pause" if on and not self._held else "Replay" if self._over else "Play"
        if self.buttons["Play"].label != label:
            self.buttons["Play"].label = label

    def enable(self, ready: bool, done: bool, at_start: bool = True, ended: bool = False) -> None:
        """Which buttons make sense now: Continue only when the budget is used up and the method could go on."""
        self._standing = ready, done, at_start, ended
        self._over = done and not at_start
        self.playing(self._playing)
        goes_on = self._over and not ended
        shown = {"Step": not goes_on, "Continue": goes_on, "Replay": not self._over}
        dead = {"Step": done, "Back": at_start, "Play": done and at_start}
        for label, button in self.buttons.items():
            closed = not ready or ((self._closed or self._held) and label in STEPS)
            classes, disabled = _classes(label, shown.get(label, True)), closed or dead.get(label, False)
            if button.css_classes != classes:
                button.css_classes = classes
            if button.disabled != disabled:
                button.disabled = disabled

    def close(self, on: bool) -> None:
        """Whether no step is to be made for now: a lesson asks first."""
        if on != self._closed:
            self._closed = on
            self.enable(*self._standing)

    def hold(self, on: bool) -> None:
        """Whether the run waits for its kernels: until they are there Play says Play, and no step can be made."""
        if on != self._held:
            self._held = on
            self.enable(*self._standing)

    def offers(self, label: str) -> bool:
        """Whether the button of that label is to be seen and pressed."""
        button = self.buttons[label]
        return css.HIDDEN not in button.css_classes and not button.disabled


def _classes(label: str, shown: bool) -> list[str]:
    return ["pmdviz-button", f"pmdviz-{label.lower()}", *([] if shown else [css.HIDDEN])]


# How buttons look: at least 40 px high in the playback bar, 32 px elsewhere, a visible focus.

SMALL_CSS = css.BUTTON + ".bk-btn { min-height: 32px; font-size: 13px !important; }"
SMALL: dict[str, Any] = {"variant": "outline", "margin": 0, "stylesheets": [SMALL_CSS]}


def small_button(label: str, **parameters: Any) -> pn.widgets.Button:
    """A plain button."""
    return pn.widgets.Button(label=label, **{**SMALL, **parameters})
