"""Contests of the Stein family without gradients: on a lattice against plain NumPy, and a step beside SVGD's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.helpers.contest import Call, Contest, Peer
from benchmarks.helpers.plain_discrete import STEPS, plain, session
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

PARTICLES, FLOWS = 1000, 20  # of a Stein force of all pairs, and steps of a call


def contests() -> Iterator[Contest]:
    """The two that the issue of this family sets a bar for: at most 0.6 of the plain form, and 1.5 times SVGD's."""
    yield _lattices()
    yield from _flows()


def _lattices() -> Contest:
    ours = session()
    start = plain(ours)

    def of_form(products: bool) -> Call:
        def steps() -> Any:
            form = type(start)(start.latent, start.size, start.coupling, start.field, products)
            for _ in range(STEPS):
                form.step()
            return form

        return steps

    forms = {"plain NumPy, matrix products": True, "plain NumPy, all differences": False}
    return Contest(
        name="discrete_gf_svgd: a step on 10 x 10 spins",
        size="n = 100",
        ours=lambda: _from_the_start(ours, STEPS),
        peers=tuple(Peer(name, lambda products=products: of_form(products)) for name, products in forms.items()),
        calls=STEPS,
        note=f"{STEPS} steps from N(-2, 1), a session's advance({STEPS}); ours is to be at most 0.6 of the plain form",
    )


def _flows() -> Iterator[Contest]:
    for target in ("gaussian", "mixture"):
        both = [
            Session(Recipe(target, name, budget=None, num_particles=PARTICLES), metrics_every=10**9)
            for name in ("gf_svgd", "svgd")
        ]
        ours, svgd = both
        yield Contest(
            name="gf_svgd: a step beside SVGD's",
            size=f"{target}, n = {PARTICLES:,}",
            ours=lambda ours=ours: _from_the_start(ours, FLOWS),
            peers=(Peer("svgd", lambda svgd=svgd: lambda: _from_the_start(svgd, FLOWS)),),
            calls=FLOWS,
            note=f"{FLOWS} steps from the start, both at their defaults; ours is to be at most 1.5 times SVGD's",
        )


def _from_the_start(session: Session, steps: int) -> Any:
    session.seek(0)
    return session.advance(steps)
