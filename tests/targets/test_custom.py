"""A person's own functions: checked when made, run like any other target, and never the end of a session."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

import pmdviz
from pmdviz.cli.main import main
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.links import read
from pmdviz.serve import server
from pmdviz.targets import TARGETS, get_target, make_target
from pmdviz.targets import custom as custom_targets
from pmdviz.targets.space import Block, Discrete, InBlocks, Reals, checked_blocks, coordinate_blocks
from tests.support.engine import default_target, digest, drive
from tests.support.tables import looped, refused

DATA = np.random.default_rng(0).normal(0.5, 1.0, size=30)


def log_prior(theta):
    return -0.5 * (theta**2).sum(axis=1) - 0.5 * theta.shape[1] * np.log(2 * np.pi)


def log_likelihood(theta, batch):
    return -0.5 * ((batch[None, :] - theta[:, :1]) ** 2).sum(axis=1) - 0.5 * len(batch) * np.log(2 * np.pi)


def slope(theta, batch):
    return (batch - theta).sum(axis=1)


def sample_prior(rng, m, dim=1):
    return rng.standard_normal((m, dim))


PARTS = {"log_prior": log_prior, "log_likelihood": log_likelihood, "sample_prior": sample_prior, "data": DATA}


def custom(**parts):
    return pmdviz.custom_target(**{**PARTS, "dim": 1, "name": "dose", **parts})


def test_a_run_from_end_to_end():
    run = pmdviz.run(target=custom(), method="pmd", seed=0, budget=600, num_particles=300)
    assert run.final.metrics["floor_tv"] < run.final.metrics["tv"] < 0.2
    assert abs(run.mean()[0] - run.target.exact.mean[0]) < 4 * np.sqrt(run.target.exact.cov[0, 0] / 100)
    names = {"dose": run.target}
    exec(run.to_python(), names)
    assert names["run"].particles.tobytes() == run.particles.tobytes()


class Mute(Exception):
    """An error that cannot even say what it is."""

    def __str__(self):
        raise RuntimeError


def mute():
    raise Mute


WRONG = [
    ({"name": "two words"}, "name must be a word"),
    ({"name": "x" * 41}, "at most 40"),
    ({"name": 5}, "got 5"),
    ({"name": "mixture"}, "'mixture' is the name of a built-in target"),
    ({"dim": 0}, "dim must be a whole number from 1 to 1,000; got 0"),
    ({"data": []}, "data must be an array with at least one row"),
    ({"data": 5.0}, "data must be an array with at least one row"),
    ({"data": [[1, 2], [3]]}, "rows of equal length"),
    ({"log_prior": 5}, "log_prior must be a function; got 5"),
    ({"bounds": [(1, 0)]}, "bounds must be 1 pair(s) (low, high) with low < high; got [(1, 0)]"),
    ({"bounds": [(0, np.inf)]}, "bounds must be 1 pair(s)"),
    ({"bounds": 5}, "bounds must be 1 pair(s)"),
    ({"log_prior": lambda theta: np.full(len(theta), -np.inf)}, "log_prior must be finite at the prior's draws"),
    ({"log_likelihood": lambda t, b: np.full(len(t), np.nan)}, "must be a number or -inf; it gave "),
    ({"log_likelihood": lambda t, b: np.full(len(t), np.inf)}, "must be a number or -inf; it gave "),
    ({"grad_log_prior": lambda t: t, "grad_log_likelihood": slope}, "do not fit the densities"),
    ({"grad_log_prior": 3}, "must be a function or None"),
    ({"log_likelihood": lambda t, b: log_likelihood(t, b) / len(b)}, "must be the plain sum over the rows"),
]
WRONG_WHEN_CALLED = [
    ({"grad_log_prior": lambda t: np.zeros(2), "grad_log_likelihood": slope}, "must give shape"),
    ({"log_prior": lambda theta: theta}, r"log_prior must give shape \(8,\) for theta of shape \(8, 1\); it gave"),
    ({"log_likelihood": lambda t, b: 0.0}, r"log_likelihood must give shape \(8,\) .* and 30 rows; it gave \(\)"),
    ({"log_likelihood": lambda t, b: 1 / 0}, "log_likelihood of target 'dose' raised ZeroDivisionError: division"),
    ({"log_likelihood": lambda t, b: vandal(t, b)}, "of target 'dose' raised ValueError: .*read-only"),
    ({"log_prior": lambda: 0}, "log_prior of target 'dose' raised TypeError"),
    ({"log_likelihood": lambda t, b: [0j] * len(t)}, "log_likelihood of target 'dose' gave complex values"),
    ({"log_prior": lambda theta: sys.exit("enough")}, "log_prior of target 'dose' raised SystemExit: enough"),
    ({"log_prior": lambda theta: mute()}, "log_prior of target 'dose' raised Mute: $"),
    ({"sample_prior": lambda rng, m: np.zeros((m, 3))}, r"must give shape \(4096, 1\); it gave \(4096, 3\)"),
    ({"sample_prior": lambda rng, m: np.full((m, 1), np.nan)}, "sample_prior must give finite values; it gave"),
]


def in_single(function):
    return lambda *arguments: function(*(np.asarray(each, np.float32) for each in arguments))


@looped("rows", [5000, 20])
def test_functions_in_float32_are_checked_with_their_own_precision(rows):
    data = np.random.default_rng(0).normal(0.5, 1.0, 5000)[:rows]
    parts = {"log_prior": log_prior, "grad_log_prior": lambda t: -t, "log_likelihood": log_likelihood}
    parts = {name: in_single(part) for name, part in {**parts, "grad_log_likelihood": slope}.items()}
    assert custom(**parts, data=data).exact.mean == pytest.approx(data.sum() / (1 + len(data)), abs=1e-3)
    wrong = in_single(lambda t, b: 1.05 * slope(t, b)), in_single(lambda t, b: log_likelihood(t, b) / len(b))
    refused("compute in float32", custom, **{**parts, "grad_log_likelihood": wrong[0]}, data=data)
    refused("plain sum .* compute in float", custom, **{**parts, "log_likelihood": wrong[1]}, data=data)


def test_columns_of_words_are_refused_and_nan_is_named_by_its_row():
    refused("column 'g' of data holds words", custom, data=pd.DataFrame({"a": [1.0, 2], "g": ["x", "y"]}))
    bad = DATA.copy()
    bad[3] = np.nan
    refused("data hold NaN in row 4", custom, data=bad)


def test_a_series_that_does_not_factor_goes_as_one_row():
    def autoregression(theta, batch):
        series = np.asarray(batch).ravel()
        return -0.5 * ((series[1:] - theta * series[:-1]) ** 2).sum(axis=1)

    series = np.cumsum(DATA) * 0.3
    refused(r"takes the data as ONE row: data=x\[None\]", custom, data=series, log_likelihood=autoregression)
    squares = (series[:-1] ** 2).sum()
    mean = (series[1:] * series[:-1]).sum() / (squares + 1)
    assert custom(data=series[None], log_likelihood=autoregression).exact.mean == pytest.approx(mean, abs=1e-3)


@looped("parts, words", WRONG)
def test_wrong_parts_are_refused(parts, words):
    refused(words, custom, **parts)


@looped("parts, words", WRONG_WHEN_CALLED)
def test_functions_that_fail_are_named(parts, words):
    with pytest.raises(TargetError, match=words):
        custom(**parts)


def test_a_recipe_comes_back_with_its_target_and_says_without_it_what_it_needs():
    recipe = Recipe(custom(), num_particles=20, budget=100, changes=[(2, {"eta": 1})])
    text = recipe.to_json()
    again = Recipe.from_json(text, targets={"dose": custom()})
    assert again.to_json() == text and again == recipe
    one, two = Session(recipe), Session(again)
    assert drive(one) == drive(two) == "" and digest(one) == digest(two)
    for targets in (None, {}, {"other": custom()}):
        refused("needs the custom target 'dose'; give it:", Recipe.from_json, text, targets=targets)
    refused("must be made with pmdviz.custom_target", Recipe.from_json, text, targets={"dose": make_target("gaussian")})
    for parts, what in [
        ({"data": DATA[::-1]}, "data_hash"),
        ({"data": DATA[:-1]}, "num_data"),
        ({"log_prior": lambda theta: log_prior(theta) - 0.01}, "log_joint"),
        ({"log_likelihood": lambda theta, batch: log_likelihood(1.001 * theta, batch)}, "log_joint"),
        ({"dim": 2, "sample_prior": lambda rng, m: sample_prior(rng, m, 2)}, "dim"),
    ]:
        words = f"'dose' does not match the recipe .*{what}"
        refused(words, Recipe.from_json, text, targets={"dose": custom(**parts)})


class Moody:
    def __init__(self, mood):
        self.mood, self.after, self.calls = mood, np.inf, 0

    def __call__(self, theta, batch):
        values = log_likelihood(theta, batch)
        self.calls += 1
        return self.mood(values) if self.calls > self.after else values


def fourth(what):
    return lambda values: np.where(np.arange(len(values)) == 3, what, values)


def angry(values):
    raise RuntimeError("I will\nnot")


MOODS = [
    (fourth(np.nan), "is nan at theta = \\("),
    (fourth(np.inf), "is inf at theta = \\("),
    (lambda values: np.full_like(values, -np.inf), "is -inf at every particle, one of them theta = \\("),
    (lambda values: values[:-1], "must give shape"),
    (angry, "raised RuntimeError: I will not$"),
]


@looped("mood, words", MOODS)
def test_a_failing_likelihood_stops_at_the_last_good_frame_and_can_be_tried_again(mood, words):
    likelihood = Moody(mood)
    recipe = Recipe(custom(log_likelihood=likelihood), num_particles=50, batch_size=7, budget=140, policy="always")
    healthy, session = Session(recipe), Session(recipe)
    drive(healthy)
    good = session.advance(6)
    likelihood.after = likelihood.calls
    for _ in range(2):
        with pytest.raises(TargetError, match=words) as error:
            session.advance(2)
        assert session.frame is good and len(session.history) == 4
    if words.startswith(("is nan", "is inf")):
        assert error.value.theta.shape == (1,) and f"theta = ({error.value.theta[0]:.6g})" in str(error.value)
        assert error.value.batch_note.startswith("a batch of 7 rows")
    likelihood.after = np.inf
    assert drive(session) == "" and digest(session) == digest(healthy)


def test_a_few_impossible_particles_are_no_failure():
    strict = lambda t, batch: np.where(t[:, 0] > 0.5, -np.inf, log_likelihood(t, batch))  # noqa: E731
    session = Session(Recipe(custom(log_likelihood=strict), num_particles=200, budget=300))
    frame = session.advance()
    zeros = frame.info.scalars["zero_weight"]
    assert 0 < zeros < 200 and (frame.weights[frame.particles[:, 0] > 0.5] == 0).all()
    assert f"{zeros} particles have weight 0" in frame.info.words and drive(session) == ""


def vandal(theta, batch):
    theta *= 0
    return log_likelihood(theta, batch)


def test_a_density_that_cannot_be_summed_and_a_box_without_any_of_the_posterior_are_named():
    mine = custom(log_likelihood=lambda t, batch: np.where(t[:, 0] < -3.5, np.nan, log_likelihood(t, batch)))
    none = custom(log_likelihood=lambda t, b: np.where(t[:, 0] > 5, -np.inf, log_likelihood(t, b)), bounds=[(6, 7)])
    words = "is nan at theta = .*, where the exact posterior is computed", "give bounds that hold the posterior"
    for target, said in zip((mine, none), words, strict=True):
        with pytest.raises(TargetError, match=said):
            target.exact  # noqa: B018


GRADIENTS = {
    "grad_log_prior": lambda theta: -theta,
    "grad_log_likelihood": lambda theta, batch: np.pad((batch - theta[:, :1]).sum(1)[:, None], ((0, 0), (0, 2))),
}
OF_THREE = {"dim": 3, "sample_prior": lambda rng, m: sample_prior(rng, m, 3), "name": "three", **GRADIENTS}


def test_blocks_are_those_given_or_each_coordinate_alone():
    mine, usual = custom(**OF_THREE, blocks=[[2, 0], (1,)]), custom(**OF_THREE)
    for target, blocks in ((mine, [(0, 2), (1,)]), (usual, [(0,), (1,), (2,)])):
        assert [block.coordinates for block in target.blocks] == blocks
    assert mine.key != usual.key and mine.fingerprint["blocks"] == [[0, 2], [1]] and "blocks" not in usual.fingerprint
    run = pmdviz.run(target=mine, method="pmfvb", budget=30 * 150, num_particles=200)
    np.testing.assert_allclose(run.final.particles.std(axis=0), [1 / np.sqrt(31), 1.0, 1.0], rtol=0.2)
    text = run.recipe.to_json()
    assert run.final.density.blocks == ((0, 2), (1,)) and Recipe.from_json(text, targets={"three": mine}) == run.recipe
    refused(r"does not match the recipe \(blocks differ\)", Recipe.from_json, text, targets={"three": usual})
    refused("give grad_log_prior and grad_log_likelihood too", custom, blocks=[[0]])
    words = "needs .*a gradient of its log density and blocks of parameters"
    refused(words, pmdviz.run, target=custom(), method="pmfvb")


@pytest.fixture
def on_disk(tmp_path):
    data = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=(62_000,))
    data[:] = np.random.default_rng(0).standard_normal(62_000)
    data.flush()
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_a_memory_map_is_never_copied_any_other_array_is(on_disk):
    target = custom(data=on_disk)
    assert np.shares_memory(target.data, on_disk) and not target.data.flags.writeable
    session = Session(Recipe(target, num_particles=50, budget=500))
    assert np.shares_memory(session.target.data, on_disk)
    given = np.array(on_disk)
    copied = custom(data=given)
    assert copied.fingerprint == target.fingerprint and not np.shares_memory(copied.data, given)
    in_memory = Session(Recipe(copied, num_particles=50, budget=500))
    assert session.advance(5).weights.tobytes() == in_memory.advance(5).weights.tobytes()


def test_no_call_of_a_persons_function_has_more_pairs_than_the_limit(on_disk, monkeypatch):
    sizes = []

    def counted(function):
        return lambda theta, batch: sizes.append((len(theta), len(batch))) or function(theta, batch)

    gradients = {"grad_log_prior": lambda theta: -theta, "grad_log_likelihood": counted(slope)}
    given = custom(data=on_disk, log_likelihood=counted(log_likelihood), **gradients)
    theta = np.random.default_rng(1).standard_normal((70, 1))
    whole = given.log_likelihood(theta, on_disk), given.grad_log_joint(theta, on_disk)
    monkeypatch.setattr(custom_targets, "MAX_PAIRS", 10_000)
    sizes.clear()
    np.testing.assert_allclose(given.log_likelihood(theta, on_disk), whole[0], rtol=1e-12)
    np.testing.assert_allclose(given.grad_log_joint(theta, on_disk), whole[1], rtol=1e-9)
    assert max(m * n for m, n in sizes) <= 10_000 and sum(n for _, n in sizes) == 2 * len(on_disk)
    sizes.clear()
    given.log_likelihood(np.zeros((20_000, 1)), on_disk[:3])
    assert sizes == [(20_000, 1)] * 3, "where there are more theta than pairs allowed, one datum at a time"


def test_the_exact_posterior_is_left_out_where_it_would_take_minutes(on_disk, monkeypatch):
    assert custom(data=on_disk).exact is None
    assert custom(data=np.zeros(50)).exact is not None
    frame = Session(Recipe(custom(data=on_disk), num_particles=20, budget=100)).frame
    assert frame.metrics["tv"] is None and frame.grid.q.sum() > 0
    monkeypatch.setattr(custom_targets, "MAX_EXACT_PAIRS", 50 * custom_targets.ENOUGH[1] - 1)
    assert custom(data=np.zeros(50)).exact is None


def test_points_are_checked_by_their_space():
    for theta, words in (([[1j, 0]], "real numbers"), ([1, 2, 3], "shape"), ("ab", "real numbers")):
        refused(words, Reals(("a", "b")).check, theta)
    for given in (((1,), 2), ((1, 1), 2), ((0, 1), 0), ((0, 1), ())):
        refused("", Discrete, *given)
    space = Discrete((-1, 1), (2, 2))
    assert (space.dim, space.num_states, space.names[0]) == (4, 16, "x₁")
    assert space.check([[1, -1, 1, 1]]).tolist() == [[1.0, -1.0, 1.0, 1.0]]
    assert space.words(np.array([1.0, -1.0, 1.0, 1.0])) == "+-++"
    refused(r"one of -1, 1 in every coordinate; got 3.225", space.check, [[1, -1, 3.225, 1]])


def coins(**changes):
    likelihood = lambda s, rows: 1.5 * (np.ptp(s, axis=1) == 0) * len(rows)  # noqa: E731
    parts = {"space": Discrete((0, 1), 3), "log_prior": lambda s: np.full(len(s), -3 * np.log(2)), "name": "coins"}
    parts |= {"sample_prior": lambda rng, m: rng.integers(0, 2, size=(m, 3)), "data": None, **changes}
    return pmdviz.custom_target(log_likelihood=likelihood, **parts)


def flips(rng, state, data):
    state = state.copy()
    for k in range(3):
        others = np.delete(state, k)
        agree = [1.5 * (np.ptp([*others, value]) == 0) for value in (0, 1)]
        state[k] = rng.random() < 1 / (1 + np.exp(agree[0] - agree[1]))
    return state


def test_a_custom_target_on_states_is_enumerated_and_sampled_by_gibbs():
    target = coins(gibbs_sweep=flips)
    agree = 2 * np.exp(1.5) / (2 * np.exp(1.5) + 6)
    assert np.exp(target.exact.log_density([[1, 1, 1]]))[0] == pytest.approx(agree / 2)
    assert target.exact.log_z == pytest.approx(np.log((2 * np.exp(1.5) + 6) / 8))
    run = pmdviz.run(target=target, method="gibbs", seed=0, budget=2000, metrics_every=1000)
    found = (np.ptp(run.particles, axis=1) == 0).mean()
    assert abs(found - agree) < 5 * np.sqrt(agree * (1 - agree) / 500)  # a sweep's draws are correlated: 4 times fewer
    assert run.final.metrics["marginal_tv"] < 0.1 and run.final.metrics["tv"] is None
    wrong = coins(gibbs_sweep=lambda rng, state, data: state + 0.5)
    refused("one of 0, 1", wrong.gibbs_sweep, np.random.default_rng(0), np.zeros(3), wrong.data_rows)
    refused(r"only the values 0, 1; .*space=pmdviz.Discrete\(\[0, 1\], 3\)", coins, space=None, dim=3)


def exponential(rate, dim):
    """Exp(1) priors whose posteriors are Exp(rate), by rate - 1 data that are all one."""
    return pmdviz.custom_target(
        log_prior=lambda theta: np.where((theta >= 0).all(axis=1), -theta.sum(axis=1), -np.inf),
        log_likelihood=lambda theta, batch: -theta.sum(axis=1) * batch.sum(),
        sample_prior=lambda rng, n: rng.exponential(size=(n, dim)), data=np.ones(rate - 1), dim=dim, name="edge",
    )  # fmt: skip


@pytest.mark.parametrize("rate, dim", [(50, 1), (501, 1), (5001, 1), (501, 2)])
def test_the_mass_at_a_hard_edge_is_kept(rate, dim):
    exact, error = exponential(rate, dim).exact, {1: 0.01, 2: 0.1}[dim]  # a cell at the edge counts by its centre
    assert exact.log_z == pytest.approx(-dim * np.log(rate), abs=error)
    np.testing.assert_allclose(exact.mean * rate, 1.0, atol=error)


MODULE = """
import numpy as np
import pmdviz

ROWS = np.random.default_rng(0).normal(1.5, 0.5, 30)

def heights(name="heights"):
    return pmdviz.custom_target(
        name=name, dim=1, data=ROWS,
        log_prior=lambda theta: -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi),
        log_likelihood=lambda theta, rows: -2 * ((rows - theta) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.standard_normal((m, 1)),
    )

def broken():
    raise RuntimeError("no file\\nof heights")

target = heights()
again = heights()
USED = pmdviz.run(method="pmd", target="gaussian", num_particles=20, budget=40)  # asks for targets as it is imported
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('enough')\n")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(custom_targets.VARIABLE, "")
    monkeypatch.setattr(custom_targets, "_loaded", ("", {}))
    yield "own_models:target"
    for name in ("own_models", "leaves", "wrong"):
        sys.modules.pop(name, None)


@pytest.fixture
def heights(place):
    custom_targets.offer([place])
    return custom_targets.offered()["heights"]


def test_a_custom_target_that_is_registered_or_offered_is_found_by_its_name(heights, monkeypatch):
    assert os.environ[custom_targets.VARIABLE] == "own_models:target"
    assert get_target("heights", {}) is heights is custom_targets.offered()["heights"]
    assert "heights" in custom_targets.titles() and custom_targets.names() == {"heights": "heights"}
    assert pmdviz.run(target="heights", num_particles=50, budget=600).final.metrics["tv"] < 0.5
    refused("target_options go with the name of a built-in target", Recipe, "heights", target_options={"dim": 2})
    with monkeypatch.context() as patch:
        patch.setenv(custom_targets.VARIABLE, "own_models:heights")
        found = Recipe.from_json(Recipe("heights").to_json()).custom
        assert found is custom_targets.offered()["heights"] is not heights
    monkeypatch.setattr(custom_targets, "_registered", {})
    first, second = custom(name="dose"), custom(name="dose")
    assert pmdviz.register_target(first) is first is get_target("dose") is pmdviz.target("dose")
    assert "dose" in pmdviz.list_targets() and "dose" in custom_targets.titles()
    recipe = Recipe("dose", num_particles=50, budget=200)
    assert pmdviz.run(recipe).target is first
    assert Recipe.from_json(recipe.to_json()).custom is Recipe.from_link(recipe.to_link()).custom is first
    assert pmdviz.register_target(second) is second is get_target("dose")
    refused("takes a target made with pmdviz.custom_target, not 'mixture'", pmdviz.register_target, "mixture")
    refused("the server offers another target with the name 'heights'", pmdviz.register_target, custom(name="heights"))
    assert get_target("heights") is heights


def test_a_link_and_a_file_open_where_it_is_offered_and_another_of_its_name_is_not_taken(heights, monkeypatch):
    recipe, race = Recipe("heights", num_particles=50), RaceRecipe.checked("pmd,smc", "heights")
    text, race_text = recipe.to_link(), race.to_link()
    assert Recipe.from_link(text) == recipe and Recipe.from_link(text).custom is heights
    assert Recipe.from_json(recipe.to_json()) == recipe and len(text) < 700
    assert RaceRecipe.from_link(race_text) == race and RaceRecipe.from_json(race.to_json()).target is heights
    with monkeypatch.context() as patch:
        patch.setenv(custom_targets.VARIABLE, "")
        for opened in ({"run": [text]}, {"race": [race_text]}):
            said = refused("", read, opened).on_page
            assert said.startswith("this run needs the model 'heights', which is not offered here")
        for shared in (recipe, race):
            refused("a link cannot hold your own target 'heights'", shared.to_link)
    other = sys.modules["own_models"].heights()
    assert custom_targets.choice_of(heights) == "heights" and custom_targets.choice_of(other) is other
    refused("a link cannot hold your own target 'heights'", Recipe(other).to_link)
    text = Recipe("heights").to_link()
    sys.modules["own_models"].ROWS = np.arange(5.0)
    monkeypatch.setenv(custom_targets.VARIABLE, "own_models:heights")
    refused(r"'heights' does not match the recipe \(.*data_hash", Recipe.from_link, text)


@looped(
    "given, words",
    [
        ("own_models", "--target must be MODULE:OBJECT, such as my_models:heights; got 'own_models'"),
        ("../own_models:target", "--target must be MODULE:OBJECT"),
        ("own_models:target()", "--target must be MODULE:OBJECT"),
        ("nowhere:target", "--target nowhere:target cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("own_models:nothing", "cannot be loaded: AttributeError: module 'own_models' has no attribute 'nothing'"),
        ("own_models:broken", "cannot be loaded: RuntimeError: no file of heights"),
        ("own_models:ROWS", "own_models:ROWS must be made with pmdviz.custom_target, or be a function that gives one"),
        ("own_models:target.sample_prior", "cannot be loaded: TypeError"),
        ("own_models:target own_models:again", "two targets have the name 'heights'"),
        ("leaves:x", "cannot be loaded: SystemExit: enough"),
        ("wrong:f", "cannot be loaded: SyntaxError"),
    ],
)
def test_what_cannot_be_offered_ends_the_start_with_one_sentence(place, given, words, monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    assert main(["serve", *(word for one in given.split() for word in ("--target", one))]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pmdviz: ") and words in said and said.count("\n") == 1


SETTINGS = [
    ("logistic", {"dim": 5, "num_data": 37}, [[0, 1], [2, 3, 4], [1, 3], [4]]),
    ("gmm", {"dim": 3}, [[0], [0, 2], [1]]),
    ("correlated_gaussian", {"dim": 5}, [[0], [1, 4], [2, 3]]),
    ("stochastic_volatility", {"num_data": 6, "data_seed": 2, "factors": "two"}, []),
]


@looped("name, options, groups", SETTINGS)
def test_the_averaged_gradient_is_a_mean_of_plain_ones(name, options, groups):
    target, rng = make_target(name, **options), np.random.default_rng(0)
    own, others = target.sample_prior(rng, 70), target.sample_prior(rng, 9)
    for group in [list(block.coordinates) for block in target.blocks] + groups:
        expected = np.zeros((70, len(group)))
        for row in others:
            points = np.tile(row, (70, 1))
            points[:, group] = own[:, group]
            expected += target.grad_log_joint(points)[:, group] / 9
        for way in (target.block_gradient, super(type(target), target).block_gradient):
            found = way(Block("", tuple(group)), own[:, group], others, {})
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
            far = way(Block("", tuple(group)), 300 * own[:, group], 300 * others, {}) if name == "logistic" else found
            assert np.isfinite(far).all(), "where e^-a e^-b is beyond all numbers"


def test_blocks_hold_every_coordinate_once_and_are_named_after_them():
    for name in [name for name, made in TARGETS.items() if issubclass(made, InBlocks)]:
        target = default_target(name)
        assert "blocks" in target.offers, name
        assert sorted(k for block in target.blocks for k in block.coordinates) == list(range(target.dim)), name
        names = {block.name for block in target.blocks}
        assert len(names) == len(target.blocks) and all(names), name
    found = checked_blocks([[2, 0], np.array([1])], ["a", "b", "c"])
    assert found == (Block("a, c", (0, 2)), Block("b", (1,)))
    assert coordinate_blocks(["a", "b"]) == (Block("a", (0,)), Block("b", (1,)))
    words = r"each of the 3 coordinates \(0 to 2\) exactly once: b is in none; c is in sev"
    refused(words, checked_blocks, [[0, 2], [2]], ["a", "b", "c"])


def test_the_correlated_gaussian_is_what_it_says():
    target, expected = make_target("correlated_gaussian", dim=5, correlation=-0.6), np.eye(5)
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = -0.6
    np.testing.assert_allclose(target.exact.cov, expected, atol=1e-12)
    assert [block.coordinates for block in target.blocks] == [(0, 1), (2, 3), (4,)] and target.exact.log_z == 0.0
