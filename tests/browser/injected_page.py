"""A served lab in which every text that a person or a file can give tries to become markup."""

import numpy as np
import panel as pn

from pmdviz import presets
from pmdviz.engine.recipe import Recipe
from pmdviz.expressions import Expression, Template
from pmdviz.presets import Diagnosis, Hint, Preset
from tests.support.own import own_target

EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
asked = [0]


def log_likelihood(theta, batch):
    asked[0] += 1
    if asked[0] > 30:
        raise ValueError(EVIL)
    return -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)


target = own_target(2, "evil", log_likelihood=log_likelihood, data=np.arange(30.0) / 10)
target.title = target.about = EVIL
target.parameter_names = (EVIL, EVIL)
diagnosis, hint = Diagnosis(Expression("iteration >= 0"), Template(EVIL)), Hint(say=EVIL)
run = Recipe("gaussian", made_with={"x": EVIL}).to_dict()
evil = Preset("evil", EVIL, EVIL, EVIL, "tv", Expression("tv < 1"), (diagnosis,), (hint,), run, position=1)
presets.PRESETS["evil"] = evil

from pmdviz.serve.pages import lab_page  # noqa: E402  (after the preset is in the table)

pn.extension(notifications=False)
lab_page(recipe=Recipe(target, budget=None, num_particles=100, made_with={EVIL: EVIL})).servable()
