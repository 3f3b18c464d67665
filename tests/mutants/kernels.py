"""Faults in the compiled kernels: signs, factors, lost terms, ends of loops."""

KERNELS, TESTS = "pmdviz/kernels", "tests/kernels"


def fault(name: str, find: str, replace: str, number: int | str) -> dict:
    """One fault in the kernel file `name`, seen by the tests of the same name."""
    return {
        "name": f"kernels-{name}-{number}",
        "file": f"{KERNELS}/{name}.py",
        "find": find,
        "replace": replace,
        "tests": f"{TESTS}/test_{name}.py",
    }


LISTED = {
    "exponential": [
        ("LOWEST = -708.0", "LOWEST = -700.0"),
        ("p = 2.51087857807841e-08", "p = 0.0"),
        ("- k * LN2_LO", "+ k * LN2_LO"),
        ("p = 4.4556433403988256e-10", "p = 0.0"),
        ("= -1021.0, np.float32(-125.0)", "= -1021.0, np.float32(-129.0)"),
        ("    p = S6\n", "    p = S5\n"),
    ],
    "pool": [
        ("min(start + rows_per_block, num_rows)", "start + rows_per_block"),
        ("range(0, num_rows, rows_per_block))", "range(0, num_rows - 1, rows_per_block))"),
        ("if cost >= SERIAL_BELOW and", "if cost < SERIAL_BELOW and"),
        ("future.result()", "future.exception()"),
        ("if threads < 1:", "if threads < 0:"),
    ],
    "checks": [
        ("alive = log_weights != -np.inf", "alive = log_weights < 0"),
        ("if not np.isfinite(array).all():", "if np.isnan(array).any():"),
        ("(np.diagonal(factor) > 0).all()", "(np.diagonal(factor) >= 0).all()"),
        ("array.copy()", "array"),
    ],
    "kde": [
        ("+ np.log(np.diagonal(cholesky)).sum()", ""),
        ("0.5 * len(cholesky) * np.log(2 * np.pi)", "0.5 * np.log(2 * np.pi)"),
        ("_subtract_multiple(cholesky[i, k], out[k], out[i])", "_subtract_multiple(-cholesky[i, k], out[k], out[i])"),
        ("SCALE = np.sqrt(LOG2E / 2)", "SCALE = np.sqrt(LOG2E)"),
        ("return np.log(sums) + tops / LOG2E", "return np.log(sums) + tops"),
        ("centre = particles[log_weights.argmax()]", "centre = 0.0 * particles[0]"),
        ("num_points * base.size)\n    return", "num_points * base.size)\n    sums[-1:] *= 2\n    return"),
        ("again = np.resize(faint, faint.size", "again = np.resize(faint[::-1], faint.size"),
        ("UNDERFLOW_SINGLE = 1e-25", "UNDERFLOW_SINGLE = 1e-45"),
        ("FARTHEST_SINGLE = 100.0", "FARTHEST_SINGLE = 1e9"),
        ("single and _are_near(columns, targets)", "_are_near(columns, targets)"),
        ("out[:, len(values) :] = 0.0", "out[:, len(values) :] = np.nan"),
    ],
    "pairs": [
        ("UNDERFLOW = 1e-280", "UNDERFLOW = 0.0"),
        ("return exp2(base - a * a)", "return exp2(base + a * a)"),
        ("return exp2((base - a * a) - b * b)", "return exp2((base - a * a) - 2 * b * b)"),
        ("return exp2(((base - a * a) - b * b) - c * c)", "return exp2(((base - a * a) - b * b) - c)"),
        ("out[j] -= a * a + b * b + c * c", "out[j] -= 2 * a * a + b * b + c * c"),
        ("other[j] -= d * d + e * e + f * f", "other[j] -= d * d + e * e"),
        ("range(0, k, 3)", "range(3, k, 3)"),
        ("other, first, last, targets, sums, i + 1, i + 2)", "other, first, last, targets, sums, i, i + 1)"),
        ("last = min(first + tile, base.size)", "last = min(first + tile, base.size - 1)"),
        ("top = max(top, value)", "top = min(top, value)"),
    ],
    "grid": [
        ("REACH = 8.5", "REACH = 7.5"),
        ("@jit\ndef _fill_rows", "@fast_jit\ndef _fill_rows"),
        ("np.log(2 * np.pi * cholesky[0, 0] * cholesky[1, 1])", "np.log(np.pi * cholesky[0, 0] * cholesky[1, 1])"),
        ("np.log(np.sqrt(2 * np.pi) * sd)", "np.log(2 * np.pi * sd)"),
        ("+ slope * dy\n                first", "- slope * dy\n                first"),
        ("particles[j, 0] + slope * dy, max(", "particles[j, 0] - slope * dy, max("),
        ("(log_weights - np.log(np.sqrt(2 * np.pi) * sd)) * LOG2E", "(log_weights - np.log(np.sqrt(2 * np.pi) * sd))"),
        ("return rows\n    return 0", "return BLOCKS[0]\n    return 0"),
        ("- t * lean", "+ t * lean"),
        ("/ sd_x * tilt * offsets[k - start])", "* tilt * offsets[k - start])"),
        ("np.ceil(high) + 1.0", "np.ceil(high) - 2.0"),
        ("range(max(reached[j, 0], start), min(", "range(max(reached[j, 0], start + 1), min("),
        ("MAX_FACTOR = 300.0", "MAX_FACTOR = 30000.0"),
        ("max(abs(dy) - offsets[-1], 0.0)", "abs(dy)"),
        ("* sd_x + abs(slope) * offsets[-1]", "* sd_x"),
    ],
    "resampling": [
        ("and i < last", "and i < weights.size - 1"),
        ("while cumulative <= position", "while cumulative < position"),
        ("(np.arange(n) + float(u)) / n", "(np.arange(n) + 1.0 - float(u)) / n"),
        ("positions[k] * total", "positions[k]"),
        ("(np.arange(u.size) + u) / u.size", "np.sort(u)"),
        ("_search(weights, np.sort(u))", "_search(weights, (np.arange(u.size) + u) / u.size)"),
        ("np.floor(shares * (1.0 + WHOLE))", "np.floor(shares)"),
        ("_search(left, np.sort(u[:missing]))", "_search(weights, np.sort(u[:missing]))"),
    ],
    "thinning": [
        ("int(u[start // size] * size)", "int(u[start // size] * (size - 1))"),
        ("starts[waiting], draws[waiting] = start, half", "starts[waiting], draws[waiting] = start, num - half"),
        ("squares - total * total / (stop - start)", "squares"),
        ("if varies > largest:", "if varies < largest or k == 0:"),
        ("high = cut - 1", "high = cut - 2"),
        ("if place == cut:", "if place >= cut:"),
        ("_select(keys, order, start, stop - 1, start + half * size)", "pass"),
    ],
    "neighbourhoods": [
        ("for j in range(distances.size):\n        tie =", "for j in range(distances.size)[::-1]:\n        tie ="),
        ("(particles / scale).T", "(particles * scale).T"),
        ("max(counted.sum(), 1.0)", "centres.size"),
        ("out[k, i] += weights[j] / total * a * b", "out[k, i] += weights[j] * a * b"),
        ("- mean[k], particles[j, i] - origin[i] - mean[i]", ", particles[j, i] - origin[i]"),
        ("columns[k, centres[c]]", "columns[0, centres[c]]"),
        ("total * total >= effective * squares", "total * total >= effective"),
        ("enough = float(share) * weights.sum()", "enough = float(share)"),
        ("chosen = chosen[np.argsort(distances[row][chosen], kind=\"stable\")]", "pass"),
    ],
    "distances": [
        ("for j in range(i + 1, m)", "for j in range(i + 2, m)"),
        ("middle = (len(squared) + leave_out) // 2", "middle = len(squared) // 2"),
        ("if (len(squared) - leave_out) % 2:", "if len(squared) % 2:"),
        ("0.5 * (np.sqrt(low) + np.sqrt(high))", "np.sqrt(0.5 * (low + high))"),
    ],
    "gibbs": [
        ("np.log(p) - np.log1p(-p), uniforms", "np.log1p(-p) - np.log(p), uniforms"),
        ("log_odds - 0.5 * (u * u - v * v)", "log_odds - (u * u - v * v)"),
        ("if uniforms[n] >= share", "if uniforms[n] < share"),
        ("larger if difference >= 0.0", "larger if difference <= 0.0"),
        ("c22 = np.sqrt(prior_precision + shares[1] - c21 * c21)", "c22 = np.sqrt(prior_precision + shares[1])"),
        ("out[0] = (y1 - c21 * out[1]) / c11", "out[0] = y1 / c11"),
    ],
    "mixture": [
        ("total[j] += max(a, b) + max(c, d)", "total[j] += max(a, b) + min(c, d)"),
        ("total += max(a, b)", "total += min(a, b)"),
        ("if (stop - start) % 2:", "if (stop - start) % 3:"),
        ("out[1] = pull_second * precision * 2.0 * LN2", "out[1] = pull_second * precision * 2.0"),
        ("product[j] *= 1.0 + exp2(-abs(a - b))", "product[j] *= 1.0 + exp2(-2.0 * abs(a - b))"),
        ("return total, product", "return total, 1.0"),
        ("DATA_PER_LOG = 500", "DATA_PER_LOG = 5000"),
        ("np.log1p(-p) * LOG2E", "np.log(p) * LOG2E"),
        ("if difference >= 0.0", "if difference <= 0.0"),
        ("out[0] = (pull_first + pull_second)", "out[0] = pull_first"),
        ("theta[:, 0] + theta[:, 1], x, bad", "theta[:, 1], x, bad"),
        ("out -= x.size * np.log(sigma_x * np.sqrt(2 * np.pi))", "out -= np.log(sigma_x * np.sqrt(2 * np.pi))"),
    ],
    "gaussian": [
        ("constant - 0.5 * precision * distance", "constant - precision * distance"),
        ("constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2", "constant = 0.0"),
        ("- x.size * np.log", "- len(x) * np.log"),
        ("(x.mean(axis=0) - theta)", "(theta - x.mean(axis=0))"),
    ],
    "banana": [
        ("theta[i, 0] - bend * theta[i, 1] ** 2) ** 2", "theta[i, 0] + bend * theta[i, 1] ** 2) ** 2"),
        ("pull * 2.0 * bend * theta[i, 1]", "pull * bend * theta[i, 1]"),
        ("- x.size * np.log", "- np.log"),
    ],
    "bimodal": [
        ("(mean - theta[i, 0] ** 2) ** 2", "(mean - theta[i, 0]) ** 2"),
        ("out[i, 0] = 2.0 * theta[i, 0]", "out[i, 0] = theta[i, 0]"),
        ("- x.size * np.log", "+ x.size * np.log"),
    ],
    "warmup": [
        ("two[:, :1], log_weights, np.eye(1), axis", "two[:, :1], log_weights, np.eye(1), axis + np.nan"),
        ("report(number / len(calls), words)", "report(1 - number / len(calls), words)"),
    ],
}  # fmt: skip

SEEN_BY = {"pairs": f"{TESTS}/test_kde.py", "checks": [f"{TESTS}/test_kde.py", f"{TESTS}/test_warmup.py"]}

MUTANTS = [
    fault(name, find, replace, number) | ({"tests": SEEN_BY[name]} if name in SEEN_BY else {})
    for name, faults in LISTED.items()
    for number, (find, replace) in enumerate(faults, start=1)
]
