"""Every knob and option refuses what it cannot be, in a sentence that names the cure; and takes what it can."""

import hashlib
import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError, shown, unknown
from pmdviz.knobs import A_FILE, ACTS, table
from pmdviz.methods import METHODS, usual_target
from pmdviz.targets import TARGETS
from tests.support.engine import INSTALLED_APART, Unmeasured, few_coordinates, values_of

TABLES = {
    **{f"target {name}": target.Options for name, target in TARGETS.items()},
    **{f"method {name}": method.Knobs for name, method in METHODS.items()},
}
SPECS = [
    pytest.param(knobs, spec, id=f"{home}: {name}")
    for home, knobs in TABLES.items()
    for name, spec in knobs.specs().items()
]
NUMBERS = [p for p in SPECS if p.values[1].kind in ("whole", "real")]
EXAMPLES = 8  # of each of some five hundred knobs, which are of five kinds
NO_NUMBERS = [math.nan, math.inf, -math.inf, "nan", "inf", "1e999", "", "three", "0,05", "1,2,3", "1_", b"3"]
WRONG = [*NO_NUMBERS, None, [], {}, [1], object(), 1j, np.array([1, 2])]


def refused(knobs, spec, raw):
    """The sentence with which the value is refused."""
    with pytest.raises(InputError) as error:
        knobs.checked({spec.name: raw})
    words = str(error.value)
    assert spec.name in words
    assert "\n" not in words
    return words


@pytest.mark.parametrize("knobs, spec", NUMBERS)
def test_a_number_out_of_range_is_refused_with_what_was_given_and_the_bounds(knobs, spec):
    low, high = spec.bounds
    step = 1 if spec.kind == "whole" else 1e-3
    below = low - step if spec.inclusive[0] else low
    for raw in [below, str(below), -1e12, *([high + step, str(high + 1), 1e30] if high is not None else [])]:
        words = refused(knobs, spec, raw)
        assert shown(raw) in words
        assert spec.bounds_words in words
    for bound in filter(None, (low, high)):
        assert f"{bound:,f}".rstrip("0").rstrip(".") in spec.bounds_words, "no 1e-06 in prose"


@pytest.mark.parametrize("knobs, spec", NUMBERS)
def test_the_bounds_themselves_are_taken_where_they_are_inclusive(knobs, spec):
    for bound, inclusive in zip(spec.bounds, spec.inclusive, strict=True):
        if bound is not None and inclusive:
            assert spec.parse(bound) == bound
        elif bound is not None:
            refused(knobs, spec, bound)


@pytest.mark.parametrize("knobs, spec", SPECS)
def test_what_is_no_value_at_all_is_refused(knobs, spec):
    for raw in WRONG:
        if isinstance(raw, str) and raw in spec.choices:  # "three"
            continue
        words = refused(knobs, spec, raw)
        assert shown(raw) in words
        assert spec.kind == "formula" or all(choice in words for choice in spec.choices)  # a formula's says where


@pytest.mark.parametrize("knobs, spec", NUMBERS)
def test_true_is_not_a_number(knobs, spec):
    assert "True" in refused(knobs, spec, True)


@pytest.mark.parametrize("knobs, spec", [p for p in SPECS if p.values[1].kind == "whole"])
def test_half_a_thing_is_not_whole(knobs, spec):
    assert "whole number" in refused(knobs, spec, spec.bounds[0] + 0.5)


@pytest.mark.parametrize("knobs, spec", [p for p in SPECS if p.values[1].kind == "flag"])
def test_a_number_is_not_a_flag(knobs, spec):
    assert "true or false" in refused(knobs, spec, 1)
    assert (spec.parse(np.True_), spec.parse(np.False_)) == (True, False) and type(spec.parse(np.True_)) is bool
    assert (spec.parse("True"), spec.parse("false"), spec.parse(True)) == (True, False, True)


@pytest.mark.parametrize("knobs, spec", SPECS)
def test_a_misspelt_name_is_refused_with_the_nearest(knobs, spec):
    with pytest.raises(InputError, match=f"did you mean '{spec.name}'") as error:
        knobs.checked({spec.name[0] + spec.name: spec.default})
    assert knobs.kind_words.split()[0] in str(error.value)


@pytest.mark.parametrize("home", TABLES)
def test_a_name_like_no_other_is_refused_with_all_of_them(home):
    with pytest.raises(InputError) as error:
        TABLES[home].checked({"qqqq": 1})
    assert all(name in str(error.value) for name in TABLES[home].specs())


@pytest.mark.parametrize("knobs, spec", SPECS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_every_value_comes_back_from_its_own_text(knobs, spec, data):
    value = data.draw(values_of(spec))
    assert spec.parse(value) == value
    assert spec.parse(str(value)) == value
    assert type(spec.parse(str(value))) is type(spec.default)


@pytest.mark.parametrize("knobs, spec", SPECS)
@settings(max_examples=EXAMPLES)
@given(raw=st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_any_raw_value_is_taken_or_refused_never_worse(knobs, spec, raw):
    try:
        value = spec.parse(raw)
    except InputError as error:
        assert spec.name in str(error)
    else:
        assert spec.parse(value) == value
        assert spec.choices or spec.kind == "flag" or math.isfinite(value)


@pytest.mark.parametrize("knobs, spec", SPECS)
def test_every_declaration_is_complete(knobs, spec):
    assert spec.label and spec.help and spec.acts in ACTS
    assert spec.parse(spec.default) == spec.default
    if spec.soft_bounds and spec.soft_bounds[0] is not None and spec.bounds:
        assert spec.parse(spec.soft_bounds[0]) == spec.soft_bounds[0]
        assert spec.parse(spec.soft_bounds[1]) == spec.soft_bounds[1]
    hangs_on = knobs.specs()[spec.default_by[0]] if spec.default_by else None
    assert hangs_on is None or set(spec.default_by[1]) <= set(hangs_on.choices)
    for other, values in (spec.only_if or {}).items():
        named = [value for value in values if value != A_FILE]  # the path of any is no value of its own
        assert values and all(knobs.specs()[other].parse(value) == value for value in named)
    assert {"name", "default", "bounds", "unit", "help", "acts"} <= table(knobs)[0].keys()


@pytest.mark.parametrize("text, value", [("20,000", 20000.0), ("1,234.5", 1234.5), (" 5e-2 ", 0.05), ("+3", 3.0)])
def test_numbers_as_people_write_them(text, value):
    assert METHODS["pmd"].Knobs.specs()["n0"].parse(text) == value


def test_a_comma_as_the_decimal_point_is_refused_not_misread():
    with pytest.raises(InputError, match="'0,05'"):
        METHODS["pmd"].Knobs.checked({"bandwidth": "0,05"})


def test_minus_zero_is_zero():
    assert math.copysign(1, METHODS["pmd"].Knobs.specs()["n0"].parse(-0.0)) == 1


def test_numpy_numbers_are_numbers():
    knobs = METHODS["pmd"].Knobs.checked({"num_particles": np.int32(7), "eta": np.float32(0.5)})
    assert (knobs.num_particles, knobs.eta) == (7, 0.5)
    assert type(knobs.num_particles) is int


def test_knobs_cannot_be_set_behind_the_checks():
    knobs = METHODS["pmd"].Knobs.checked({})
    with pytest.raises(TypeError):
        knobs.num_particles = 5
    assert knobs.replaced(eta=1.0).eta == 1.0
    assert knobs.eta == 2.0


def test_a_width_goes_to_the_default_of_a_new_rule_unless_it_is_given():
    knobs = METHODS["pmd"].Knobs.checked({})
    assert (knobs.bandwidth_rule, knobs.bandwidth) == ("shaped", 1.0)
    assert knobs.replaced(bandwidth_rule="local").bandwidth == METHODS["svgd"].Knobs.checked({}).bandwidth == 0.75
    assert knobs.replaced(bandwidth_rule="isotropic").bandwidth == 0.1
    assert knobs.replaced(bandwidth_rule="isotropic", bandwidth=0.3).bandwidth == 0.3
    assert knobs.replaced(bandwidth=0.3).replaced(bandwidth_rule="shaped").bandwidth == 0.3
    assert METHODS["pmd"].Knobs.checked({"bandwidth_rule": "isotropic"}).bandwidth == 0.1
    assert knobs.replaced(bandwidth=0.3).replaced(bandwidth_rule="isotropic").bandwidth == 0.1


@pytest.mark.parametrize("home", TABLES)
def test_the_defaults_hang_together(home):
    """A default that hangs on another knob is the one of that knob's own default, and they fit one another."""
    knobs = TABLES[home].defaults()
    assert knobs == TABLES[home].checked({})
    values = knobs.as_dict()
    assert values == {name: spec.default_given(values) for name, spec in knobs.specs().items()}
    knobs.check()


def test_a_knob_matters_while_what_it_hangs_on_does():
    table = METHODS["pmd"].Knobs

    def matters(name, **values):
        return table.matters(name, table.checked(values).as_dict())

    assert matters("eta") and not matters("eta", schedule="constant")
    assert not matters("until") and matters("until", policy="until") and matters("until", growth="jump")
    assert matters("smoothness", bandwidth_rule="local") and not matters("smoothness", bandwidth_rule="isotropic")
    assert matters("smoothness", bandwidth_rule="isotropic", schedule="theorem6")
    assert matters("growth_exponent", growth="power") and not matters("growth_exponent", growth="jump")
    assert not matters("growth_exponent", growth="power", policy="never"), "growth itself is idle then"
    assert all(isinstance(values, tuple) for spec in table.specs().values() for values in (spec.only_if or {}).values())


def test_equal_knobs_are_equal_and_hash_alike():
    make = METHODS["pmd"].Knobs.checked
    assert make({"eta": 1}) == make({"eta": "1.0"}) != make({"eta": 2})
    assert hash(make({"eta": 1})) == hash(make({"eta": 1.0}))


def test_shown_survives_anything():
    class Nasty:
        def __repr__(self):
            raise RuntimeError("no")

    assert shown(Nasty()) == "something of type Nasty"
    assert shown(10**5000) == "something of type int"
    assert "\n" not in shown("a\nb") and "\n" not in shown(np.eye(3))
    assert len(shown("x" * 1000)) == 60
    assert "valid names: none" in str(unknown("thing", "x", []))


# Every knob and every option of it does something.


def other_values(spec):
    if spec.kind == "choice":
        return [choice for choice in spec.choices if choice != spec.default]
    if spec.kind == "flag":
        return [not spec.default]
    low, high = (bound if bound is not None else math.inf for bound in spec.bounds)
    scaled = [spec.default * factor for factor in (0.5, 1.9)] if spec.default else [1.0]
    values = {round(value) if spec.kind == "whole" else value for value in scaled if low <= value <= high}
    return [spec.parse(value) for value in sorted(values) if value != spec.default]


VARIANTS = [
    pytest.param(method.name, name, value, id=f"{method.name}: {name}={value}")
    for method in METHODS.values()
    for name, spec in method.Knobs.specs().items()
    for value in other_values(spec)
]


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


@pytest.mark.parametrize("method, name, value", VARIANTS)
def test_every_knob_option_changes_the_frames_of_the_same_seed(method, name, value):
    specs = METHODS[method].Knobs.specs()
    usual = relevant(specs[name]) | ({"burn_in": 4} if "burn_in" in specs else {})  # a short run is past its burn-in
    usual |= {"n0": 0.0} if name == "step_limit" else {}  # steps that reach it
    if name in ("sandwich", "bandwidth") and "num_temperatures" in specs and method != "svgd":
        usual |= {"num_temperatures": 8 if method == "hais" else 3}  # what counts at the end of a ladder
    usual |= {"bandwidth_rule": "isotropic"} if (method, name) == ("gf_ais", "bandwidth") else {}
    usual |= {"bandwidth_rule": "isotropic"} if (method, name) == ("pmfvb_nn", "bandwidth") else {}  # m below d
    usual |= {"scaling": "none"} if (method, name) == ("black_box_is", "bandwidth") else {}
    usual |= FEW_DRAWS if name in ("smallest_ess", "variance_floor") else {}
    usual |= {"patience": 0, "step_size": 0.2} if name == "patience" else {}  # a run of more and longer steps stalls
    usual |= {"surrogate": "base"} if value == "tanh" else {}  # which is what "automatic" stands for
    structured = METHODS[method].family == "structured"
    usual |= {"batch_size": 1} if name == "ess_threshold" and structured else {}  # an ESS that lies between thresholds
    assert differ(method, {**usual, name: value}, usual)


def test_choices_differ_from_one_another():
    for method in METHODS.values():
        for name, spec in method.Knobs.specs().items():
            if spec.kind == "choice":
                often = {"ess_threshold": 0.9} if "ess_threshold" in method.Knobs.specs() else {}
                often |= relevant(spec)
                runs = [
                    {name: choice, **often} for choice in spec.choices if choice != "automatic"
                ]  # one of the others
                assert all(differ(method.name, *pair) for pair in itertools.combinations(runs, 2)), name


# A source of data with one choice beside files is tested with the files of its format, and so is what they alone need.
CHANGED = [
    (target, name)
    for target, made in TARGETS.items()
    for name, spec in made.Options.specs().items()
    if (not spec.choices or len({*spec.choices} - INSTALLED_APART) > 1)
    and (spec.only_if or {}).get("data") != (A_FILE,)
    and (target, name) != ("stochastic_volatility", "mean_update")  # of the approximation, not of the posterior
]


@pytest.mark.parametrize("target, name", CHANGED, ids=str)
def test_every_target_option_changes_the_posterior(target, name):
    spec = TARGETS[target].Options.specs()[name]
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
        assert not np.allclose(getattr(usual, density)(points), getattr(other, density)(points), rtol=1e-12, atol=0)
    else:
        sizes = {"dim", "size", "num_topics", "side", "data", "vocabulary", "columns", "free_scale"}
        sizes |= {"layers", "hidden", "response"}
        assert name in sizes or other.num_data < usual.dim
