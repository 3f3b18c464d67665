"""Faults in what a user is promised: replays, refusals, races, sweeps, files, the live lab, its doors."""

from tests.mutants.planting import Fault

FAULTS = [
    # The same recipe gives the same bits, on the way back too.
    Fault.of("replay-inlining", "kernels.jit:COMMON", "{'nogil': True, 'cache': True, 'error_model': 'numpy', 'forceinline': True}", "{'nogil': True, 'cache': True, 'error_model': 'numpy'}", "kernels/test_jit"),
    Fault.of("replay-seed", "engine.session:Session._start", "recipe.seed", "0", "engine/test_replay"),
    Fault.of("replay-batches", "engine.batches:BatchStream.restore", "self._rng.bit_generator.state, self._position = (mark.rng_state, mark.position)", "self._position = mark.position", "engine/test_replay"),
    Fault.of("replay-copy", "engine.session:Session.copy", "twin._rng, twin._batches = (copied(self._rng), self._batches.copy())", "twin._batches = self._batches.copy()", "lab/test_replay"),
    Fault.of("recipe-knobs-at", "engine.recipe.recipe:Recipe.values_at", "bisect_right(self.changes, iteration, key=_iteration)", "bisect_left(self.changes, iteration, key=_iteration)", "engine/test_recipe"),
    Fault.of("recipe-formats", "engine.recipe.formats:earlier_knobs", "KNOBS.get(version, {})", "{}", "engine/test_formats"),
    Fault.of("ancestry-order", "engine.ancestry:after_step", "before.rows[info.parents]", "info.parents", "engine/test_ancestry"),
    Fault.of("ancestry-alive", "engine.ancestry:Ancestry.number_alive", "log_weights > -np.inf", "log_weights == log_weights", "engine/test_ancestry"),
    # What fails leaves a run as it was.
    Fault.of("failed-step", "engine.session:Session._step", "self.frame, self._rng.bit_generator.state = (before, random)", "self.frame = before", "engine/test_session"),
    Fault.of("failed-change", "engine.session:Session.set_all", "self.recipe, self.frame = before", "self.frame = before[1]", "engine/test_session"),
    Fault.of("budget-end", "engine.session:Session.done", "self.frame.spent >= self.recipe.budget", "self.frame.spent > self.recipe.budget", "engine/test_session"),
    # What is refused.
    Fault.of("knob-bound", "knobs:KnobSpec._inside", "self.inclusive[0] and value == low", "value == low", "test_knobs"),
    Fault.of("json-twice", "engine.recipe.parts:_object", "key in found", "False", "engine/test_recipe"),
    Fault.of("json-deep", "engine.recipe.parts:json_value", "(ValueError, TypeError, RecursionError)", "ValueError", "engine/test_recipe"),
    Fault.of("link-unpacked", "engine.recipe.link:unfold", "len(text) > LARGEST", "False", "lab/test_links"),
    Fault.of("custom-infinite", "methods.base:checked_log_likelihood", "-np.inf < values.max() < np.inf", "-np.inf < values.max()", "targets/test_custom"),
    Fault.of("limit-particles", "lab.loop.limits:check_knobs", "m > most", "m > 2 * most", "lab/test_limits"),
    # Races, sweeps, theory.
    Fault.of("race-lock-step", "experiments.race.lockstep:Race.may_step", "mine == lowest or mine + self._next_cost(k) <= lowest + self.slack", "True", "experiments/race/test_lockstep"),
    Fault.of("sweep-identity", "experiments.sweep.plan:Job.identity", "{**self.recipe.to_dict(), 'seed': None, 'made_with': None}", "{**self.recipe.to_dict(), 'seed': None}", "experiments/sweep/test_plan"),
    Fault.of("sweep-lock", "experiments.table:Table._take_lock", "fcntl.LOCK_EX", "fcntl.LOCK_SH", "experiments/sweep/test_table"),
    Fault.of("sweep-dead-worker", "experiments.workers:results", "started & set(left)", "set()", "experiments/sweep/test_sweep"),
    Fault.of("theorem-2", "experiments.theory.formulas:theorem2", "0.5 * gamma ** 2", "gamma ** 2", "experiments/theory/test_formulas"),
    Fault.of("verdict-error", "benchmarks.helpers.claims_rules:clear", "mean > ERRORS * error", "True", "benchmarks/test_claims::test_a_lead_within_its_error_is_open"),
    Fault.of("verdict-behind", "benchmarks.helpers.claims_rules:lowest", "clear((-mean, error))", "False", "benchmarks/test_claims::test_lowest_of_all"),
    Fault.of("verdict-conditions", "benchmarks.helpers.claims_rules:verdict_of", "answer.verdict == YES", "answer.verdict != NO", "benchmarks/test_claims::test_a_verdict_asks_for_every_condition"),
    # A person's own table.
    Fault.of("table-digits", "data.parts:_unpacked", "table.pin != pin", "False", "test_data_tables"),
    Fault.of("table-rows", "data.cells:read_cells", "len(rows) - named > MOST_ROWS", "False", "test_data_tables"),
    Fault.of("table-sent", "experiments.workers:_attempt", "tables_in(texts_in((work, piece)))", "()", "engine/test_own_data"),
    Fault.of("table-held-out", "targets.table_form:divided_table", "order[num_data:]", "order[:num_data]", "targets/test_own_tables"),
    Fault.of("exact-far", "targets.mixture:Mixture.make_exact", "2 * float(np.abs(self.data).max())", "0.0", "targets/test_own_tables"),
    Fault.of("exact-far-1d", "targets.bimodal1d:Bimodal1D.make_exact", "self._best_fit", "0.0", "targets/test_own_tables"),
    Fault.of("exact-grown", "targets.logistic:Logistic.make_exact", "GridExact(self.log_joint, ((-reach, reach),) * self.dim, grows=True)", "GridExact(self.log_joint, ((-reach, reach),) * self.dim)", "targets/test_own_tables"),
    Fault.of("handle-mirror", "targets.mixture:Mixture.handles", "{'theta1': x + y, 'theta2': -y}", "{'theta1': x, 'theta2': -y}", "targets/test_own_tables"),
    # Files and pictures.
    Fault.of("file-part", "files:_into_place", "part.unlink()", "pass", "export/test_export"),
    Fault.of("film-last", "export.film.film:chosen_iterations", "[*range(0, last, look.every), last]", "[*range(0, last, look.every)]", "export/test_film"),
    Fault.of("gif-transparent", "export.writers.gif:_indexed_changes", "~changed[box]", "changed[box]", "export/test_gif"),
    Fault.of("player-script", "export.player.player:Player.html", "json.dumps(film, separators=(',', ':'), allow_nan=False).replace('</', '<\\\\/')", "json.dumps(film, separators=(',', ':'), allow_nan=False)", "export/test_player"),
    Fault.of("dots-area", "scenes.columns:dot_sizes", "np.sqrt(weights * share)", "weights * share", "scenes/test_columns"),
    # The live lab, its server and notebooks.
    Fault.of("live-in-flight", "lab.loop.live:Live._wait_for_ack", "self._under_way() >= IN_FLIGHT", "self._under_way() >= IN_FLIGHT + 1", "lab/test_live"),
    Fault.of("runner-stop", "lab.loop.runner:Runner.advance", "not self.wanted.is_set() or time.perf_counter() - began > SHARE_S", "time.perf_counter() - began > SHARE_S", "lab/test_runner"),
    Fault.of("locked-gone", "lab.loop.locked:_is_waiting", "not is_connected(doc)", "False", "lab/test_locked"),
    Fault.of("door-modules", "serve.handlers:_parse_component_path", "module.partition('.')[0] not in FAMILY or module not in sys.modules", "module.partition('.')[0] not in FAMILY", "serve/test_doors"),
    Fault.of("door-token", "serve.handlers:token_fault", "return 'the token is not of this server'", "pass", "serve/test_doors"),
    Fault.of("door-origin", "serve.handlers:SocketHandler.prepare", "'Origin' not in self.request.headers", "False", "serve/test_doors"),
    Fault.of("message-models", "serve.browser_messages:_models_made", "not kind_of(part.get('id'))", "kind_of(part.get('id'))", "serve/test_messages"),
    Fault.of("notebook-echo", "lab.notebook.widget:PageWidget._document_patched", "event.setter is not self", "event.setter is self", "lab/test_notebook::test_changes_are_sent_but_not_back_to_where_they_came_from"),
    Fault.of("notebook-freed", "lab.notebook.widget:PageWidget.__init__", "weakref.ref(page)", "lambda: page", "lab/test_notebook::test_a_lab_that_nobody_has_is_freed"),
    # Lessons.
    Fault.of("lesson-goal", "lessons.check:_faults_of_goal", "not step.goal.holds(shown.solved)", "False", "lessons/test_check"),
    Fault.of("lesson-diagnosis", "presets.diagnosis:contradictions", "not diagnoses or any((each.when.holds(scope) for each in diagnoses))", "True", "lessons/test_check"),
    Fault.of("lesson-hints", "lessons.progress:Progress.hint", "opened + 1", "opened + 2", "lessons/test_progress"),
    Fault.of("lesson-gate", "lessons.progress:Progress.go_on", "not self.may_go_on(may_skip)", "False", "lessons/test_progress"),
    Fault.of("lesson-kept", "lessons.progress:Progress.to_json", "self.answers", "{}", "lessons/test_progress"),
    Fault.of("expression-text", "expressions:_number", "isinstance(value, str)", "False", "test_expressions"),
    Fault.of("answer-gate", "lessons.questions:Question.reveal", "self.stored is None", "False", "lessons/test_questions::test_nothing_is_revealed_before_an_answer_is_stored"),
    Fault.of("answer-zero", "lessons.questions:Question.reveal", "self.stored is None", "not self.stored", "lessons/test_questions::test_an_answer_of_zero_is_an_answer"),
    Fault.of("answer-near", "lessons.asking:within", "scale or abs(right)", "1.0", "lessons/test_questions::test_a_number_is_told_where_it_lies"),
    Fault.of("check-slip", "lessons.checking:_judged", "(said for value, said in slips if _near(values, value, limit))", "(said for value, said in slips)", "lessons/test_checking::test_a_number_is_judged"),
    Fault.of("check-array", "lessons.checking:_near", "float(np.abs(wanted).max())", "float(np.abs(wanted).min())", "lessons/test_checking::test_an_array_is_judged_by_its_largest_entry"),
]  # fmt: skip
