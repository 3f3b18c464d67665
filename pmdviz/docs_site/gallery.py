"""The gallery: presets played to the end of their budget, each a picture, a player in one file, and its question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pmdviz.api import run
from pmdviz.errors import unknown
from pmdviz.presets import PRESETS, Preset

Progress = Callable[[int, Preset], None]  # how many have been played, and the next one
FOLDER = "players"  # of the site
FEW = ("two_modes", "particles_die", "one_gaussian")  # what a build takes where nobody names any: seconds
ALL, NONE = "all", "none"
APP = "http://127.0.0.1:5006/"  # where `pmdviz serve` listens
THEMES = ("light", "dark")
FRAMES = 40  # of a player: enough to see a run, and each one weighs


def chosen(names: str) -> list[Preset]:
    """The presets that a comma-separated list names; `all`, `none`. Raises InputError for an unknown one."""
    if names in (ALL, NONE):
        return list(PRESETS.values()) if names == ALL else []
    asked = [name.strip() for name in names.split(",")]
    for name in asked:
        if name not in PRESETS:
            raise unknown(f"preset of the gallery ({ALL}, {NONE} or names):", name, PRESETS)
    return [PRESETS[name] for name in dict.fromkeys(asked)]


def write_players(presets: Sequence[Preset], folder: Path, progress: Progress | None = None) -> None:
    """Run each preset and write its player and its pictures into `folder`; `progress` is called before each.

    Raises InputError, TargetError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for k, preset in enumerate(presets):
        if progress is not None:
            progress(k, preset)
        played = run(preset.recipe)
        played.export(folder / f"{preset.name}.html", frames=FRAMES)
        for theme in THEMES:
            played.export(folder / f"{preset.name}-{theme}.png", theme=theme, width=768, height=432)


def gallery_markdown(presets: Iterable[Preset]) -> str:
    """A section for each preset: its question, a picture that opens the player, what to watch, a link to the app."""
    lines = [line for preset in presets for line in _section(preset)]
    return "\n".join(lines).rstrip() or "This build of the site holds no players."


def _section(preset: Preset) -> Iterator[str]:
    player = f"{FOLDER}/{preset.name}.html"
    yield from (f"## {preset.title}", "", preset.question, "")
    yield from (
        f'<p class="gallery"><a href="{player}">',
        *map(_picture, [preset] * len(THEMES), THEMES),
        "</a></p>",
        "",
    )
    yield from (f"Watch {preset.watch}", "")
    yield f'<p><a href="{player}">Play it</a> here, or <a href="{APP}?preset={preset.name}">open it in the app</a>'
    yield from ("(after <code>pmdviz serve</code>), and change a setting.</p>", "")


def _picture(preset: Preset, theme: str) -> str:
    words = f"The end of the run: {preset.title}"
    source = f"{FOLDER}/{preset.name}-{theme}.png"
    return f'<img class="only-{theme}" src="{source}" alt="{words}" width="768" height="432" loading="lazy">'
