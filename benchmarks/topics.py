"""Topics at size (100 of them on 8,000 words): documents a second and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from argparse import Namespace
from typing import Any

import psutil

from benchmarks.helpers.contest import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

SIZE = {"data": "model", "num_topics": 100, "vocabulary": 8000, "length": 200, "alpha": 0.1, "beta": 0.01}
BATCH, STEPS = 100, 6  # documents; steps that are timed, after one that is not
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "structured PMD, 1 particle": ("structured_pmd", {"num_particles": 1}),
    "structured PMD, 16 particles": ("structured_pmd", {"num_particles": 16}),
    "online VB": ("online_vb", {}),
    "one-pass SMC-LDA, 1 particle": ("particle_lda", {"num_particles": 1}),
}


def run(options: Namespace) -> dict[str, Any]:
    """Each method in a process of its own, on two corpora of which one is twice as long."""
    documents = (1000,) if options.quick else (1000, 2000)
    at_size = {name: {str(n): _apart(method, knobs, n) for n in documents} for name, (method, knobs) in CASES.items()}
    return {"options": SIZE, "batch_size": BATCH, "at_size": at_size}


def _apart(method: str, knobs: dict[str, Any], num_data: int) -> dict[str, Any]:
    """`measured` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.topics", method, json.dumps(knobs), str(num_data)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measured(method: str, knobs: dict[str, Any], num_data: int) -> dict[str, Any]:
    """Documents and words a second, and megabytes: of state, of the corpus, and of what a run takes beyond it."""
    recipe = Recipe(
        "topics", method, target_options={**SIZE, "num_data": num_data}, budget=None, batch_size=BATCH, **knobs
    )
    target = recipe.make_target()
    memory, most = psutil.Process().memory_info, 0
    before = memory().rss
    session = Session(recipe, 10**9)
    session.advance(1)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        frame = session.advance(1)
        most = max(most, memory().rss)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rows, corpus = STEPS * BATCH, target.corpus
    return {
        "documents_per_second": figures(rows / wall, 3),
        "documents_per_cpu_second": figures(rows / cpu, 3),
        "words_per_cpu_second": figures(rows * SIZE["length"] / cpu, 3),
        "state_megabytes": figures(frame.num_bytes / 2**20, 3),
        "corpus_megabytes": figures((corpus.words.nbytes + corpus.counts.nbytes) / 2**20, 3),
        "run_megabytes": round((most - before) / 2**20),
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))))
