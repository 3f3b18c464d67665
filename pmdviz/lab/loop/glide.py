"""How the dots get from one frame to the next: where each comes from, and how long it takes. The browser moves them.

The pictures between two frames are nobody's frames: they are not counted, and no word on the page speaks of them.
"""

from __future__ import annotations

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.scenes.columns import MAX_DRAWN

SHORTEST_S, LONGEST_S = 0.08, 0.5  # a quicker move is not seen as one, a slower one looks tired
SHARE = 0.8  # of the time until the next frame: then the dots rest for a moment where they are


def origins(before: Frame, after: Frame) -> np.ndarray | None:
    """The row of `before` that each dot of `after` comes from, (m,) float32; -1 for one that comes from none.

    None where nothing can be followed: between draws of a chain, two runs, or frames that do not follow one another,
    and where not every particle is drawn.
    """
    follows = before.target is after.target and after.iteration == before.iteration + 1 and after.info is not None
    if not follows or after.method.family == "chain":
        return None
    m, n = len(before.particles), len(after.particles)
    if max(m, n) > MAX_DRAWN:
        return None
    if after.info.parents is not None:
        return after.info.parents.astype(np.float32)
    if after.info.rejuvenated or m != n:
        return np.full(n, -1, np.float32)
    return np.arange(n, dtype=np.float32)


def glide_ms(pause_s: float) -> int:
    """Milliseconds that a move takes with so many seconds until the next frame; 0 where it could not be seen."""
    return 0 if pause_s < SHORTEST_S else round(1000 * min(LONGEST_S, SHARE * pause_s))
