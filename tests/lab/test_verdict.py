"""The verdict: what a change did to a run, Undo of that change, and how good a run is at a pause."""

import pytest

from tests.lab.threads import playing_lab, until


async def test_a_spiky_bandwidth_is_told_with_the_numbers_of_the_run_and_undone():
    async with playing_lab(num_particles=300, budget=20_000) as lab:
        for k in range(1, 16):
            lab._act("step")
            await until(lambda k=k: lab._last.frame.iteration == k)
        good = lab._last.frame.metric("tv")
        await until(lambda: "independent draws" in lab.verdict.said.object)
        lab.setup.brief.controls["bandwidth"].receive({"value": "0.02"})
        await until(lambda: lab._last.frame.knobs.bandwidth == 0.02 and "spike" in lab.verdict.said.object)
        assert f"TV {good:.3g}" in lab.verdict.said.object and lab.verdict.undo.visible
        lab.verdict._undo()
        await until(lambda: lab._last.frame.knobs.bandwidth == 1.0)
        assert "spike" not in lab.verdict.said.object
        lab._act("restart")
        await until(lambda: lab._last.frame.iteration == 0)
        assert "Press Play" in lab.verdict.said.object


async def step_to(lab, iteration):
    while lab._last.frame.iteration < iteration:
        wanted = lab._last.frame.iteration + 1
        lab._act("step")
        await until(lambda wanted=wanted: lab._last.frame.iteration == wanted)


@pytest.mark.parametrize(
    ("name", "end", "said"),
    [
        ("num_particles", "low", "too few particles"),
        ("num_particles", "high", "times as long"),  # more particles are no worse, but slow
        ("eta", "low", "barely move"),
        ("eta", "high", "too much to say"),
        ("bandwidth", "low", "spike"),
        ("bandwidth", "high", "wider than the posterior"),
    ],
)
async def test_either_end_of_each_slider_breaks_the_default_run_and_the_verdict_says_so(name, end, said):
    async with playing_lab() as lab:
        await step_to(lab, 40)
        before = lab._last.frame.metric("tv")
        (spec,) = (spec for spec in lab.setup.brief.specs if spec["name"] == name)
        lab.setup.brief.controls[name].receive({"value": str(spec[end])})
        await until(lambda: getattr(lab._last.frame.knobs, name) == spec[end])
        for iteration in range(41, 61):
            await step_to(lab, iteration)
            if said in lab.verdict.said.object:
                break
        assert said in lab.verdict.said.object, lab.verdict.said.object
        if "times" not in said and "barely" not in said:
            assert lab._last.frame.metric("tv") > 2 * before and lab.verdict.undo.visible
