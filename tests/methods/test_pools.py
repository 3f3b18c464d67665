"""Several chains in lock step: each is a chain like one alone, and their draws and costs are pooled."""

import numpy as np

from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.mcmc import judged_draws_of
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.tables import looped

CHAINS = [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"]


@looped("method", CHAINS)
def test_each_chain_of_a_pool_steps_as_one_alone(method):
    """On its share of the rows, or all of them, with the numbers that come next from the stream."""
    target, way = make_target("mixture", num_data=24), METHODS[method]
    knobs = way.Knobs.checked({"num_chains": 3, **({"batch_size": 4} if "batch_size" in way.Knobs.specs() else {})})
    streams = [np.random.default_rng(5) for _ in range(2)]
    pool, alone = way.init(streams[0], target, knobs), [way.start(streams[1], target, knobs) for _ in range(3)]
    for _ in range(6):
        size = way.batch_size(pool, knobs, 24)
        assert size == (12 if "batch_size" in way.Knobs.specs() else 24)
        batch = target.data[:size]
        pool, info = way.step(streams[0], pool, target, batch, knobs)
        rows = [batch] * 3 if size == 24 else [batch[:4], batch[4:8], batch[8:]]
        moved = [way.move(streams[1], *each, knobs) for each in zip(alone, [target] * 3, rows, strict=True)]
        alone = [state for state, _ in moved]
        for one, other in zip(pool.chains, alone, strict=True):
            assert np.array_equal(one.newer, other.newer)
        for name in ("visited", "density_evaluations", "gradient_evaluations"):
            assert getattr(info, name) == sum(getattr(each, name) for _, each in moved)
        assert all(len(term) == 3 for term in info.terms.values()) and info.words.startswith("3 chains")


@looped("method", CHAINS)
def test_the_judged_draws_of_all_are_pooled(method):
    frame = advanced(method, 20, num_chains=4, burn_in=0.5, thinning=2).frame
    each = [judged_draws_of(chain, frame.knobs) for chain in frame.state.chains]
    assert [len(draws) for draws in each] == [5] * 4
    assert np.array_equal(frame.particles, np.concatenate(each))
    assert len(np.unique(frame.particles[:, 0])) > 4 and frame.iteration == frame.state.iteration == 20
    assert frame.num_bytes >= sum(chain.newer.nbytes for chain in frame.state.chains) + 8192
