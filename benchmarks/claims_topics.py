"""What the paper claims about topics: perplexity of every method on three corpora after each of five passes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_rules import arrays_of, pooled
from benchmarks.helpers.claims_runs import by_setting, write_rows
from benchmarks.helpers.contest import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

PASSES = 5
BATCH = 100  # documents, as in the paper
SEARCH_DATA, SEARCH_RUNS = range(1001, 1002), range(100, 101)  # no seed of these judges
HELD_OUT, RUNS = range(1011, 1016), range(200, 202)

PROBLEMS: dict[str, dict[str, Any]] = {
    "bars": {"data": "bars", "num_topics": 10, "num_data": 1000},
    "model": {"data": "model", "num_topics": 20, "num_data": 1000, "vocabulary": 500, "length": 100, "beta": 0.05},
    "reuters": {"data": "reuters", "num_topics": 20, "num_data": 300},
}
TITLES = {
    "bars": "bars on a 5 x 5 image",
    "model": "a corpus drawn from the model",
    "reuters": "Reuters, 395 documents",
}

Settings = tuple[dict[str, Any], ...]


class Entrant(NamedTuple):
    """A method, how many particles, and the settings among which its best is sought; the first is our default."""

    title: str
    method: str
    tried: Settings = ({},)
    fixed: Mapping[str, Any] = {}
    passes: int = PASSES


DECAYS: Settings = (
    {},
    {"kappa": 0.7},
    {"eta": 1.0, "n0": 10.0},
    {"eta": 5.0, "n0": 10.0, "kappa": 1.0},
    {"eta": 2.0, "n0": 10.0, "kappa": 0.7},
)
STEPS: Settings = ({}, {"a": 0.3}, {"a": 3.0}, {"a": 10.0}, {"a": 30.0})
ENTRANTS = {
    "pmd 1": Entrant("structured PMD, 1 particle", "structured_pmd", DECAYS, {"num_particles": 1}),
    "pmd 16": Entrant("structured PMD, 16 particles", "structured_pmd", DECAYS, {"num_particles": 16}),
    "online_vb": Entrant("online VB (SVI)", "online_vb", DECAYS),
    "sgrld": Entrant("SGRLD", "sgrld", STEPS),
    "smc 1": Entrant("one-pass SMC-LDA, 1 particle", "particle_lda", ({}, {"sweeps": 20}), {"num_particles": 1}, 1),
    "smc 16": Entrant("one-pass SMC-LDA, 16 particles", "particle_lda", ({}, {"sweeps": 20}), {"num_particles": 16}, 1),
}


def run(options: Namespace) -> dict[str, Any]:
    """Every entrant at its best of a small search, on each corpus; every run as a line of a CSV beside."""
    problems = {name: made for name, made in PROBLEMS.items() if name != "reuters" or find_spec("lda")}
    data, runs = (HELD_OUT[:2], RUNS[:1]) if options.quick else (HELD_OUT, RUNS)
    rows, knobs = [], {}
    for name, made in problems.items():
        knobs[name] = {key: _best(entrant, made, options.quick) for key, entrant in ENTRANTS.items()}
        for key, entrant in ENTRANTS.items():
            found = _ends(entrant, (knobs[name][key],), made, data, runs)[0]
            rows += [{"problem": name, "entrant": key, "setting": "best", **row} for row in found]
    if options.json and options.json != "-":
        write_rows(Path(options.json).with_suffix(".csv"), rows)
    arrays = arrays_of(rows)
    return {
        "problems": problems,
        "search_data_seeds": list(SEARCH_DATA),
        "data_seeds": list(data),
        "run_seeds": list(runs),
        "passes": PASSES,
        "batch_size": BATCH,
        "entrants": {
            name: {key: _described(key, arrays[name], knobs[name][key]) for key in ENTRANTS} for name in arrays
        },
    }


def _best(entrant: Entrant, problem: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    """The setting with the lowest mean perplexity after the last pass."""
    tried = entrant.tried[:2] if quick else entrant.tried
    ends = _ends(entrant, tried, problem, SEARCH_DATA, SEARCH_RUNS)
    last = [[row["perplexity"] for row in rows if row["pass"] == PASSES] for rows in ends]
    return tried[int(np.argmin(np.mean(last, axis=1)))]


def _ends(
    entrant: Entrant, settings: Settings, problem: Mapping[str, Any], data: range, seeds: range
) -> list[list[dict[str, Any]]]:
    """For each setting the rows of its runs."""
    return by_setting(partial(measured, entrant, problem), settings, data, seeds)


def measured(
    entrant: Entrant, problem: Mapping[str, Any], knobs: Mapping[str, Any], data_seed: int, seed: int
) -> list[dict[str, Any]]:
    """Where one run stood after each pass; a method that has ended stays where it is."""
    options, asked = {**problem, "data_seed": data_seed}, {"budget": problem["num_data"], "seed": seed}
    recipe = Recipe(
        "topics", entrant.method, target_options=options, **asked, batch_size=BATCH, **entrant.fixed, **knobs
    )
    session, rows = Session(recipe, 10**9), []
    for passed in range(1, PASSES + 1):
        if passed <= entrant.passes:
            session.limit(passed * problem["num_data"])
            while not session.done:
                session.advance(10**9)
        frame = session.frame
        at = {"data_seed": data_seed, "seed": seed, "budget": passed * problem["num_data"], "pass": passed}
        found = {name: frame.metric(name) for name in ("perplexity", "word_log_loss", "unigram")}
        rows.append(
            {**at, **found, "visited": frame.visited, "evaluations": frame.evaluations, "seconds": frame.seconds}
        )
    return rows


def _described(key: str, arrays: Mapping[str, Any], knobs: Mapping[str, Any]) -> dict[str, Any]:
    ends, entrant = arrays[key]["best"], ENTRANTS[key]
    by_pass = [pooled(ends["perplexity"][:, :, k]) for k in range(PASSES)]
    return {
        "title": entrant.title,
        "settings_tried": len(entrant.tried),
        "knobs": dict(knobs),
        "perplexity": [figures(mean, 4) for mean, _ in by_pass],
        "standard_error": [figures(error, 2) for _, error in by_pass],
        "nats": figures(pooled(ends["word_log_loss"][:, :, -1])[0], 4),
        "unigram_nats": figures(pooled(ends["unigram"][:, :, -1])[0], 4),
        "evaluations": round(float(ends["evaluations"][:, :, -1].mean())),
        "seconds": figures(float(ends["seconds"][:, :, -1].mean()), 3),
        "runs": int(ends["perplexity"][:, :, -1].size),
    }
