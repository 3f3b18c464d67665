"""Every knob and option refuses what it cannot be, in a sentence that names the cure; and takes what it can."""

import hashlib
import itertools
import math
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import shown, unknown
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.export.options import Look, RaceLook
from pmdviz.knobs import A_FILE, ACTS, table
from pmdviz.methods import METHODS, usual_target
from pmdviz.targets import TARGETS
from tests.support.engine import INSTALLED_APART, Unmeasured, few_coordinates, values_of
from tests.support.tables import refused

TABLES = {
    **{f"target {name}": target.Options for name, target in TARGETS.items()},
    **{f"method {name}": method.Knobs for name, method in METHODS.items()},
}
SPECS = [(home, spec) for home, knobs in TABLES.items() for spec in knobs.specs().values()]
NUMBERS = [(home, spec) for home, spec in SPECS if spec.kind in ("whole", "real")]
ON_PAGES = TABLES | {
    **{f"experiment {name}": made.Knobs for name, made in EXPERIMENTS.items()},
    "export": Look,
    "export of a race": RaceLook,
}
NO_NUMBERS = [math.nan, math.inf, -math.inf, "nan", "inf", "1e999", "", "three", "0,05", "1,2,3", "1_", b"3"]
WRONG = [*NO_NUMBERS, None, [], {}, [1], object(), 1j, np.array([1, 2])]


def refusal(home, spec, raw):
    """The sentence with which a value is refused; it names the knob and what was given."""
    words = str(refused(spec.name, TABLES[home].checked, {spec.name: raw}))
    assert shown(raw) in words, (home, spec.name, raw, words)
    return words


def test_a_number_out_of_range_is_refused_with_what_was_given_and_the_bounds_and_one_at_them_taken():
    for home, spec in NUMBERS:
        low, high = spec.bounds
        step = 1 if spec.kind == "whole" else 1e-3
        below = low - step if spec.inclusive[0] else low
        for raw in [below, str(below), -1e12, *([high + step, str(high + 1), 1e30] if high is not None else [])]:
            assert spec.bounds_words in refusal(home, spec, raw)
        for bound in filter(None, (low, high)):
            assert f"{bound:,f}".rstrip("0").rstrip(".") in spec.bounds_words, (home, spec.name)
        for bound, inclusive in zip(spec.bounds, spec.inclusive, strict=True):
            if bound is not None and inclusive:
                assert spec.parse(bound) == bound, (home, spec.name)
            elif bound is not None:
                refusal(home, spec, bound)


def test_what_is_not_a_value_is_refused():
    for home, spec in SPECS:
        for raw in WRONG:
            if isinstance(raw, str) and raw in spec.choices:  # "three"
                continue
            words = refusal(home, spec, raw)
            # The sentence about a formula says where it is wrong.
            assert spec.kind == "formula" or all(choice in words for choice in spec.choices), (home, spec.name, words)
        if spec.kind in ("whole", "real"):
            assert "True" in refusal(home, spec, True)
        if spec.kind == "whole":
            assert "whole number" in refusal(home, spec, spec.bounds[0] + 0.5)
        if spec.kind == "flag":
            assert "true or false" in refusal(home, spec, 1)
            values = [spec.parse(raw) for raw in (np.True_, np.False_, "True", "false", True)]
            assert values == [True, False, True, False, True] and type(values[0]) is bool, (home, spec.name)


def test_an_unknown_name_is_refused_with_the_nearest_or_all_of_them():
    for home, spec in SPECS:
        wrong = {spec.name[0] + spec.name: spec.default}
        said = str(refused(f"did you mean '{spec.name}'", TABLES[home].checked, wrong))
        assert TABLES[home].kind_words.split()[0] in said, home
    for home, knobs in TABLES.items():
        said = str(refused("", knobs.checked, {"qqqq": 1}))
        assert all(name in said for name in knobs.specs()), home


@settings(max_examples=100)
@given(st.sampled_from(SPECS), st.data())
def test_every_value_comes_back_from_its_own_text(place, data):
    spec = place[1]
    value = data.draw(values_of(spec))
    assert spec.parse(value) == spec.parse(str(value)) == value
    assert type(spec.parse(str(value))) is type(spec.default)


def test_every_declaration_is_complete():
    for home, spec in SPECS:
        others = TABLES[home].specs()
        assert spec.label and spec.help and spec.acts in ACTS, (home, spec.name)
        assert spec.parse(spec.default) == spec.default, (home, spec.name)
        if spec.soft_bounds and spec.soft_bounds[0] is not None and spec.bounds:
            assert tuple(spec.parse(bound) for bound in spec.soft_bounds) == spec.soft_bounds, (home, spec.name)
        if spec.default_by:
            assert {*spec.default_by[1]} <= {*others[spec.default_by[0]].choices}, (home, spec.name)
        for other, values in (spec.only_if or {}).items():
            assert isinstance(values, tuple) and values, (home, spec.name)
            assert all(others[other].parse(value) == value for value in values if value != A_FILE), (home, spec.name)
    for home, declared in TABLES.items():
        assert {"name", "default", "bounds", "unit", "help", "acts"} <= table(declared)[0].keys(), home
        knobs = declared.defaults()
        knobs.check()
        values = knobs.as_dict()
        assert knobs == declared.checked({}), home
        # A default that depends on another knob is the one of that knob's own default.
        assert values == {name: spec.default_given(values) for name, spec in knobs.specs().items()}, home


def test_a_page_shows_words_and_no_identifiers():
    for home, knobs in ON_PAGES.items():
        for name, spec in knobs.specs().items():
            assert tuple(spec.words) == spec.choices and all(spec.words.values()), (home, name)
            assert len({*spec.words.values()}) == len(spec.words), (home, name)
            shown_words = [spec.label, spec.help, *spec.words.values()]
            assert spec.label != name and not any(re.search("[_`]", words) for words in shown_words), (home, name)
    knobs = METHODS["pmd"].Knobs
    for name, raw, label in [
        ("num_particles", "abc", "Particles m must be a whole number"),
        ("policy", "perhaps", "Rejuvenation must be one of: never; every step;"),
    ]:
        error = refused(name, knobs.checked, {name: raw})
        assert error.on_page.startswith(label) and error.field == name and name not in error.on_page
    both = {"warm_start": True, "batches": "replacement"}
    error = refused("warm_start = true needs batches = 'epochs'", knobs.checked, both)
    assert error.on_page == "Warm start needs Batches set to “shuffled passes”"


def test_numbers_as_people_and_numpy_write_them_and_anything_can_be_shown():
    spec = METHODS["pmd"].Knobs.specs()["n0"]
    for text, value in [("20,000", 20000.0), ("1,234.5", 1234.5), (" 5e-2 ", 0.05), ("+3", 3.0)]:
        assert spec.parse(text) == value
    assert math.copysign(1, spec.parse(-0.0)) == 1
    knobs = METHODS["pmd"].Knobs.checked({"num_particles": np.int32(7), "eta": np.float32(0.5)})
    assert (knobs.num_particles, knobs.eta) == (7, 0.5) and type(knobs.num_particles) is int
    with pytest.raises(TypeError):
        knobs.num_particles = 5
    make = METHODS["pmd"].Knobs.checked
    assert knobs.replaced(eta=1.0).eta == 1.0 and knobs.eta == 0.5 and make({"eta": 1}) != make({"eta": 2})
    assert make({"eta": 1}) == make({"eta": "1.0"}) and hash(make({"eta": 1})) == hash(make({"eta": 1.0}))

    class Nasty:
        def __repr__(self):
            raise RuntimeError("no")

    assert shown(Nasty()) == "something of type Nasty" and shown(10**5000) == "something of type int"
    assert "\n" not in shown("a\nb") and "\n" not in shown(np.eye(3)) and len(shown("x" * 1000)) == 60
    assert "valid names: none" in str(unknown("thing", "x", []))


def test_a_width_follows_its_rule_and_a_knob_matters_while_what_it_depends_on_does():
    knobs = METHODS["pmd"].Knobs.checked({})
    assert (knobs.bandwidth_rule, knobs.bandwidth) == ("shaped", 1.0)
    assert knobs.replaced(bandwidth_rule="local").bandwidth == METHODS["svgd"].Knobs.checked({}).bandwidth == 0.75
    assert knobs.replaced(bandwidth_rule="isotropic", bandwidth=0.3).bandwidth == 0.3
    assert knobs.replaced(bandwidth=0.3).replaced(bandwidth_rule="shaped").bandwidth == 0.3
    assert METHODS["pmd"].Knobs.checked({"bandwidth_rule": "isotropic"}).bandwidth == 0.1
    assert knobs.replaced(bandwidth=0.3).replaced(bandwidth_rule="isotropic").bandwidth == 0.1
    declared = METHODS["pmd"].Knobs

    def matters(name, **values):
        return declared.matters(name, declared.checked(values).as_dict())

    assert matters("eta") and not matters("eta", schedule="constant")
    assert not matters("until") and matters("until", policy="until") and matters("until", growth="jump")
    assert matters("smoothness", bandwidth_rule="local") and not matters("smoothness", bandwidth_rule="isotropic")
    assert matters("smoothness", bandwidth_rule="isotropic", schedule="theorem6")
    assert matters("growth_exponent", growth="power") and not matters("growth_exponent", growth="jump")
    assert not matters("growth_exponent", growth="power", policy="never"), "growth itself is idle then"


def other_values(spec):
    if spec.kind == "choice":
        return [choice for choice in spec.choices if choice != spec.default]
    if spec.kind == "flag":
        return [not spec.default]
    low, high = (bound if bound is not None else math.inf for bound in spec.bounds)
    scaled = [spec.default * factor for factor in (0.5, 1.9)] if spec.default else [1.0]
    values = {round(value) if spec.kind == "whole" else value for value in scaled if low <= value <= high}
    return [spec.parse(value) for value in sorted(values) if value != spec.default]


def digests(method, knobs):
    """Of one frame after another, particles, weights and of some the kernels; and at the end log Z."""
    target = usual_target(method)
    few = METHODS[method].family == "chain" and target == "mixture" or {"num_temperatures", "patience"} & {*knobs}
    options = {"num_data": 20 if few else 300, **few_coordinates(target)}
    session = Unmeasured(Recipe(target, method, target_options=options, budget=3000, **knobs))
    for k in itertools.count():
        frame = session.frame if k == 0 else session.advance()
        kernels = np.asarray(getattr(frame.density, "choleskys", 0)) if k < 6 or session.done else np.empty(0)
        yield hashlib.sha256(frame.particles.tobytes() + frame.weights.tobytes() + kernels.tobytes()).digest()
        if session.done:
            yield repr(frame.method.log_z(frame.state, frame.knobs, frame.target)).encode()
            return


@cache
def _remembered(method, knobs):
    """A run that goes on as far as it is asked for, and what it has been asked for."""
    return digests(method, dict(knobs)), []


def at(method, knobs, k):
    """The k-th digest of a run; None beyond its end."""
    rest, known = _remembered(method, tuple(sorted(knobs.items())))
    known += itertools.islice(rest, max(0, k + 1 - len(known)))
    return known[k] if k < len(known) else None


def differ(method, one, other):
    """Whether two runs differ in any frame; the first is enough."""
    for k in itertools.count():
        if at(method, one, k) != at(method, other, k):
            return True
        if at(method, one, k) is None:
            return False


def relevant(spec):
    """What another knob must be for this one to matter."""
    return {other: values[0] for other, values in list((spec.only_if or {}).items())[:1]}


FEW_DRAWS = {"num_particles": 100, "num_components": 60}  # weights and variances that reach their least values


def setting_of(method, name, value):
    """The other knobs with which this value makes a difference in a short run."""
    specs = METHODS[method].Knobs.specs()
    usual = relevant(specs[name]) | ({"burn_in": 4} if "burn_in" in specs else {})  # a short run is past its burn-in
    usual |= {"n0": 0.0} if name == "step_limit" else {}  # steps that reach it
    if name in ("sandwich", "bandwidth") and "num_temperatures" in specs and method != "svgd":
        usual |= {"num_temperatures": 8 if method == "hais" else 3}  # what counts at the end of a ladder
    # For the last one there are fewer particles than dimensions.
    usual |= {"bandwidth_rule": "isotropic"} if (method, name) in ISOTROPIC else {}
    usual |= {"scaling": "none"} if (method, name) == ("black_box_is", "bandwidth") else {}
    usual |= FEW_DRAWS if name in ("smallest_ess", "variance_floor") else {}
    usual |= {"patience": 0, "step_size": 0.2} if name == "patience" else {}  # a run of more and longer steps stalls
    usual |= {"tune": False, "time_step": 1e-3} if name == "max_depth" else {}  # trees that reach it
    usual |= {"surrogate": "base"} if value == "tanh" else {}  # which is what "automatic" stands for
    structured = METHODS[method].family == "structured"
    usual |= {"batch_size": 1} if name == "ess_threshold" and structured else {}  # an ESS that lies between thresholds
    return usual


ISOTROPIC = {("gf_ais", "bandwidth"), ("pmfvb_nn", "bandwidth")}
TIERS = {"svi": (), "svgd": (), "pmd": pytest.mark.ci}


@pytest.mark.parametrize("method", [pytest.param(name, marks=TIERS.get(name, pytest.mark.nightly)) for name in METHODS])
def test_every_value_of_a_knob_changes_the_frames_of_the_same_seed(method):
    specs = METHODS[method].Knobs.specs()
    for name, spec in specs.items():
        for value in other_values(spec):
            usual = setting_of(method, name, value)
            assert differ(method, {**usual, name: value}, usual), (name, value)
        if spec.kind == "choice":
            often = relevant(spec) | ({"ess_threshold": 0.9} if "ess_threshold" in specs else {})
            # "automatic" is one of the others.
            runs = [{name: choice, **often} for choice in spec.choices if choice != "automatic"]
            assert all(differ(method, *pair) for pair in itertools.combinations(runs, 2)), name


def is_compared(target, name, spec):
    """A source of data with one choice and files is tested with the files of its format, and so are its options."""
    with_a_choice = not spec.choices or len({*spec.choices} - INSTALLED_APART) > 1
    of_the_approximation = target == "stochastic_volatility" and name in ("mean_update", "factors")
    return with_a_choice and (spec.only_if or {}).get("data") != (A_FILE,) and not of_the_approximation


@pytest.mark.ci
def test_every_target_option_changes_the_posterior():
    for target, made in TARGETS.items():
        for name, spec in made.Options.specs().items():
            if is_compared(target, name, spec):
                check_that_it_changes_the_posterior(target, name, spec)


def check_that_it_changes_the_posterior(target, name, spec):
    if spec.choices:
        value = next(choice for choice in spec.choices if choice != spec.default)
    elif spec.kind == "flag":
        value = not spec.default
    else:
        value = spec.bounds[0] if spec.default != spec.bounds[0] else spec.bounds[0] + 1
    needed = relevant(spec) | ({"field_sd": 1.0} if (target, name) == ("ising", "target_seed") else {})
    usual, other = TARGETS[target](**needed), TARGETS[target](**{**needed, name: value})
    points = other.sample_prior(np.random.default_rng(1), 3)
    density = "log_prior" if name.startswith("q0_") else "log_joint"  # where a run starts changes no posterior
    density = "log_relaxed" if (target, name) == ("binary_net", "steepness") else density  # nor do smooth units
    if usual.dim == other.dim:
        one, two = getattr(usual, density)(points), getattr(other, density)(points)
        assert not np.allclose(one, two, rtol=1e-12, atol=0), (target, name, value)
    else:
        sizes = {"dim", "size", "num_topics", "side", "data", "vocabulary", "columns", "free_scale"}
        sizes |= {"layers", "hidden", "response", "num_classes", "num_inputs"}
        assert name in sizes or other.num_data < usual.dim, (target, name, value)
