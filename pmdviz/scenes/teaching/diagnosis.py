"""The diagnosis of a run by a preset, in words: one sentence with the numbers of the run."""

from __future__ import annotations

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.presets import PRESETS
from pmdviz.presets.diagnosis import diagnose
from pmdviz.presets.measures import RunScope
from pmdviz.scenes.words import state

NOTHING_YET = "Nothing has run yet: press Play."
NOT_HERE = "Nothing of what this preset is about: {}."


def diagnosis_of(preset: str, run: Run) -> str:
    """The first sentence of a preset's diagnosis that is true of a run; else what one must know to judge the run.

    What a run lacks, or a person's own target cannot say, leaves out a sentence and breaks nothing.
    """
    frame = run.final
    if frame.iteration == 0:
        return NOTHING_YET
    scope = RunScope(run)
    for each in PRESETS[preset].diagnosis:
        try:
            words = diagnose([each], scope)
        except InputError:
            continue
        if words:
            return words
    return _sentence(frame.caveat) if frame.caveat else NOT_HERE.format(state(frame, unknown="not known"))


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:].rstrip('.')}."
