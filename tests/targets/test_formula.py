"""The target that is a formula: where its mass is found, what is refused, and that its examples can be run."""

import numpy as np
import pytest
from scipy import integrate

from pmdviz.errors import InputError
from pmdviz.targets import make_target
from pmdviz.targets.without_data.formula import EXAMPLES
from tests.support.tables import looped


def made(density, **options):
    return make_target("formula", density=density, **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_its_formula(name):
    text = EXAMPLES[name][1]
    by_name, by_text = made(name), made(f" {text.replace(' ', '  ')} ")
    assert by_text.options.density == name and by_text.key == by_name.key
    points = by_name.sample_prior(np.random.default_rng(0), 9)
    np.testing.assert_array_equal(by_name.log_joint(points), made(f"{text} + 0").log_joint(points))


def test_the_normalising_constant_is_an_integral():
    target = made("-x**4 / 4 + x**2 - y**2 / (1 + x**2)")
    found = integrate.quad(lambda x: np.exp(-(x**4) / 4 + x**2) * np.sqrt(np.pi * (1 + x**2)), -9, 9)[0]
    assert target.exact.log_z == pytest.approx(np.log(found), abs=1e-5)
    assert target.dim == 2 and target.parameter_names == ("x", "y")
    one = made("-abs(x - 1) * 2")
    assert one.dim == 1 and one.exact.log_z == pytest.approx(0, abs=1e-5) and one.exact.mean[0] == pytest.approx(1)


def test_the_box_grows_from_q0_to_where_the_mass_is():
    near, far = made("-square(x) - square(y)"), made("-square(x - 70) - square(y + 3) / 2")
    assert near.box == ((-16.0, 16.0), (-16.0, 16.0))
    np.testing.assert_allclose(far.exact.mean, [70, -3], atol=1e-3)
    assert far.box[1] == near.box[1] and far.box[0][1] > 75 and far.view_box[0][1] > 72
    heavy = made("-1.5 * log1p(square(x))")  # Student's t with two degrees of freedom
    assert heavy.box[0][1] >= 64 and heavy.exact.log_z == pytest.approx(np.log(2), abs=1e-3)
    assert made("-square(x)", q0_sd=5.0, q0_mean=3.0).box == ((-37.0, 43.0),)


def test_outside_the_support_there_is_no_pull():
    target = made("2 * log(maximum(x, 0)) - x")
    points = np.array([[-1.0], [2.0], [0.0]])
    assert target.log_joint(points)[[0, 2]].tolist() == [-np.inf] * 2
    assert target.formula.value(points)[1] == pytest.approx(2 * np.log(2) - 2)
    np.testing.assert_allclose(target.grad_log_joint(points)[:, 0], [0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(target.exact.mean, [3], atol=1e-3)


@looped(
    "density, words",
    [
        ("x", "does not fall off"),
        ("-square(x) + 0 * y", "does not fall off: a share of the mass lies at the edge of y"),
        ("-log1p(abs(x))", "does not fall off"),
        ("log(x) - x", "is not a number at x = -15.99; it must be finite, or minus infinity where the density is 0"),
        ("exp(1000 + x) - x**2", "is infinite at x ="),
        ("1 / square(x) - x**2", "rises without end at x = "),
        ("log(0) - square(x)", "is minus infinity wherever it was tried, first at x = -15.99; move q0"),
        ("foo(x)", "density: 'foo', at character 1, is no function of a formula"),
        ("", "density: a formula is a text of 1 to 500 characters"),
    ],
)
def test_what_is_no_density_is_refused_beside_its_box(density, words):
    with pytest.raises(InputError) as error:
        made(density)
    assert words in str(error.value) and error.value.field == "density"
    assert error.value.on_page.startswith("Log density")
