"""A session can neither read nor change another's state, whatever its browser sends."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.targets import TARGETS
from tests.support.crowd import Crowd, served
from tests.support.engine import default_target, fitting


@pytest.mark.ci
def test_what_recipes_share_cannot_be_written():
    for name in TARGETS:
        method = fitting(default_target(name))[0]
        one, two = (Recipe(name, method).make_target() for _ in range(2))
        assert one is two, name
        assert not isinstance(one.data, np.ndarray) or not one.data.flags.writeable, name


@pytest.mark.ci
def test_messages_with_the_names_of_another_session_change_nothing_there():
    with served() as lab:
        crowd = Crowd(lab.url)
        mine, theirs = crowd.join(2)
        assert mine.ack_id != theirs.ack_id
        common = set(mine.models) & set(theirs.models)
        assert all(set(mine.models[name]["attributes"]) <= {"name"} for name in common)  # nothing that holds a value
        crowd.do(attack(mine, theirs))
        before = theirs.iteration
        crowd.do(theirs.until(lambda: theirs.iteration > before + 2))  # plays on as if nothing had been
        assert theirs.errors == []
        assert "endless" in theirs.words["of"]
        crowd.leave()


async def attack(mine, theirs):
    """Pause them, change their budget, claim their frames: by the ids of their models, over my own connection."""
    mine.wire.patch(theirs.ack_id, key="space", presses=99)
    mine.wire.patch(theirs.ack_id, hidden=True)
    mine.wire.patch(theirs.found("title", "Run length (observations used)")["id"], value="2000")
    mine.wire.send_event("button_click", {"model": {"id": theirs.found("label", "Restart")["id"]}})
    await mine.until(lambda: any("UnknownReferenceError" in sentence for sentence in mine.errors))
