"""The verdict: what a change did to a run, Undo of that change, and how good a run is at a pause."""

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
