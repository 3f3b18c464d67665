"""What a long session keeps: some runs to go back to, and little of each."""

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.lab.controls import commands
from pmdviz.lab.loop.runner import Runner


def test_the_runs_kept_for_undo_are_few_and_small(monkeypatch):
    runner = Runner(Recipe("gaussian", num_particles=20, batch_size=5, budget=None))
    room = 8 * runner.session.frame.num_bytes
    monkeypatch.setattr(commands, "KEPT_BYTES", room)
    made = commands.Commands(None, None, lambda on: None)
    for seed in range(commands.KEPT_RUNS + 2):
        for _ in range(300):
            runner.advance(1)
        runner, _ = made._new_run(runner, {"seed": seed})
    assert len(made._before) == commands.KEPT_RUNS
    for kept in made._before:
        assert sum(frame.num_bytes for frame in kept.session.frames) <= room + runner.session.frame.num_bytes
        assert kept.session.frame.iteration == 300
