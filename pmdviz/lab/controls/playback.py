"""The playback bar: always in sight, the same buttons in the app and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed

SPEEDS = {
    "1 iteration a frame": 1,
    "2 a frame": 2,
    "5 a frame": 5,
    "10 a frame": 10,
    "20 a frame": 20,
    "50 a frame": 50,
}
BUTTONS = {  # label -> (act, what it does)
    "Restart": ("restart", "Restart: iteration 0 with the knobs as they are now (R)"),
    "Back": ("back", "One step back (left arrow)"),
    "Play": ("toggle", "Play or pause (space)"),
    "Step": ("step", "One step (right arrow)"),
    "Replay": ("replay", "Replay: iteration 0, then every knob change comes again"),
    "Continue": ("proceed", "Continue with as much budget again"),
}


class PlaybackBar:
    """Buttons and speed; `act(name)` is called for a button, `speed(iterations)` for another speed."""

    def __init__(
        self,
        act: Callable[[str], None],
        speed: Callable[[int], None],
        buttons: Mapping[str, tuple[str, str]] = BUTTONS,
        speeds: Mapping[str, int] = SPEEDS,
    ) -> None:
        self._off: set[str] = set()
        self.buttons = {label: self._button(label, *buttons[label], act) for label in buttons}
        self.speed = pn.widgets.Select(
            label="Speed",
            options=dict(speeds),
            value=next(iter(speeds.values())),
            width=150,
            margin=0,
            css_classes=["pmdviz-speed"],
            stylesheets=[css.SELECT],
        )
        self.speed.param.watch(handed(lambda event: speed(event.new)), "value")
        self.view = pn.Row(
            *self.buttons.values(),
            self.speed,
            css_classes=["pmdviz-transport"],
            sizing_mode="stretch_width",
            margin=0,
            stylesheets=[css.TRANSPORT],
        )
        self.enable(ready=False, done=False)

    def _button(self, label: str, name: str, help_words: str, act: Callable[[str], None]) -> Any:
        color = "primary" if label in ("Play", "Continue") else "default"
        made = pn.widgets.Button(
            label=label,
            color=color,
            variant="solid" if color == "primary" else "outline",
            margin=0,
            stylesheets=[css.BUTTON],
            css_classes=["pmdviz-button", f"pmdviz-{label.lower().replace(' ', '-')}"],
            sizing_mode="stretch_width",
        )
        made.on_click(handed(lambda event: act(name)))
        return made

    def playing(self, on: bool) -> None:
        """The button says what a press would do."""
        self.buttons["Play"].label = "Pause" if on else "Play"

    def enable(self, ready: bool, done: bool, at_start: bool = True, ended: bool = False) -> None:
        """Which buttons make sense now; Continue only when the budget is used up and the method could go on."""
        off = {"Play", "Step"} if done else {"Continue"}
        off |= {"Back"} if at_start else set()
        off |= {"Continue"} if ended else set()
        off = off if ready else set(self.buttons)
        if off != self._off:
            self._off = off
            for label, button in self.buttons.items():
                button.disabled = label in off
