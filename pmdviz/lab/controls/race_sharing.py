"""The link to a race: for its Share button, and in the browser's address bar while the page is seen."""

from __future__ import annotations

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab import links
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.clipboard import Clipboard
from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.locked import handed

PAGE = "?page=race"


class RaceSharing:
    """Share, and the address; `usual` is the race that the page's bare address opens."""

    def __init__(self, ack: Acknowledge, usual: RaceRecipe) -> None:
        self._ack, self._usual, self._race = ack, usual, usual
        self._clipboard = Clipboard(ack)
        share = small_button("Share")
        share.on_click(handed(lambda event: self._copy()))
        self.view = pn.Column(share, self._clipboard.said, margin=0, sizing_mode="stretch_width")

    def follow(self, race: RaceRecipe) -> None:
        """Bring the address up to date; a race that no link can hold leaves the page's own."""
        if race is self._race and self._ack.link:
            return
        self._race = race
        try:
            self._ack.link = PAGE if race == self._usual else links.race_query(race)
        except InputError:
            self._ack.link = PAGE

    def _copy(self) -> None:
        try:
            self._clipboard.put_on_clipboard(links.race_query(self._race))
        except InputError as error:
            self._clipboard.say(f"{str(error)[0].upper()}{str(error)[1:]} (Export, recipe as JSON).")
