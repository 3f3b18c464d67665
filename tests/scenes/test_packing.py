import json

import numpy as np

from pmdviz.scenes.packing import pack


def test_columns_come_back_and_a_shared_array_is_packed_once():
    x, y = np.arange(3, dtype=np.float32), np.array([1.5, np.nan])
    packed, layout = pack([(0, {"x": x, "same": x}), (2, {"y": y, "none": np.empty(0, np.float32)})])
    assert len(packed) == 4 * 5
    numbers = np.frombuffer(packed, "<f4")
    found = {
        (source, name): numbers[start : start + length]
        for source, columns in json.loads(layout)
        for name, start, length in columns
    }
    np.testing.assert_array_equal(found[0, "x"], x)
    np.testing.assert_array_equal(found[0, "same"], x)
    np.testing.assert_array_equal(found[2, "y"], y.astype(np.float32))
    assert len(found[2, "none"]) == 0
