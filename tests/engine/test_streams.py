"""Random streams by purpose: no figure of a run shares numbers with its data or its particles."""

import numpy as np

import pmdviz
from pmdviz.streams import PURPOSES, stream


def test_streams_of_purposes_of_data_and_of_runs_differ():
    children = np.random.SeedSequence(0).spawn(2)
    streams = [stream(p) for p in PURPOSES] + [np.random.default_rng(each) for each in (0, *children)]
    heads = {tuple(each.random(3)) for each in streams}
    assert len(heads) == len(streams) == len(PURPOSES) + 3
    assert stream("check").random() == stream("check").random() != stream("check", 1).random()


def test_samples_of_a_run_do_not_repeat_the_noise_of_its_data():
    """With one coordinate the same normals made the data, the reference's draws and the draws of q."""
    run = pmdviz.run(target="gaussian", method="pmd", budget=100, target_options={"data_seed": 0})
    noise = (run.target.data - run.target.data.mean(axis=0)).ravel()[:20]
    drawn = (run.sample(10) - run.mean()).ravel()
    assert abs(np.corrcoef(noise[: len(drawn)], drawn)[0, 1]) < 0.9
