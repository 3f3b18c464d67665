"""A served lab in which every text that a person or a file can give tries to become markup."""

import numpy as np
import panel as pn

from pmdviz import custom_target, presets
from pmdviz.engine.recipe import Recipe
from pmdviz.expressions import Expression, Template
from pmdviz.presets import Diagnosis, Hint, Preset

EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
asked = [0]


def log_likelihood(theta, batch):
    asked[0] += 1
    if asked[0] > 30:
        raise ValueError(EVIL)
    return -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)


target = custom_target(
    log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
    log_likelihood=log_likelihood,
    sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
    data=np.arange(30.0) / 10,
    dim=2,
    name="evil",
)
target.title = target.about = EVIL
target.parameter_names = (EVIL, EVIL)
presets.PRESETS["evil"] = Preset(
    "evil",
    EVIL,
    EVIL,
    EVIL,
    "tv",
    Expression("tv < 1"),
    (Diagnosis(Expression("iteration >= 0"), Template(EVIL)),),
    (Hint(say=EVIL),),
    Recipe("gaussian", made_with={"x": EVIL}).to_dict(),
    position=1,
)

from pmdviz.serve.pages import lab_page  # noqa: E402  (after the preset is in the table)

pn.extension(notifications=False)
lab_page(recipe=Recipe(target, budget=None, num_particles=100, made_with={EVIL: EVIL})).servable()
