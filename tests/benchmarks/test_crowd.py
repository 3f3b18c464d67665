"""The clients of `bench load`, `soak` and `fuzz`: they see what is wrong, and a small crowd finds nothing."""

import json
import time

import pytest

import benchmarks
from pmdviz.cli.main import main
from tests.support.client import Client
from tests.support.crowd import Crowd, served


@pytest.fixture
def client():
    made = Client("http://127.0.0.1:1")
    made.ack_id = "p1"
    made.wire.patch = lambda model, **values: None
    return made


def changed(name, new):
    return {"kind": "ModelChanged", "model": {"id": "p1"}, "attr": name, "new": new}


def status(iteration):
    return changed("words", json.dumps({"pmdviz-status": f"iteration {iteration:,}, 100 data visited"}))


def test_rising_iterations_are_frames_and_falling_ones_an_error(client):
    for iteration in (0, 1, 1, 1200):
        client._events([status(iteration)], {})
    assert len(client.frames) == 3 and client.errors == []
    client._events([status(7)], {})
    assert client.errors == ["iteration 7 came after 1200"]


@pytest.mark.parametrize(
    ("layout", "wrong"),
    [([[0, [["x", 0, 2], ["y", 2, 2]]]], False), ([[0, [["x", 0, 2], ["y", 2, 1]]]], True),
     ([[0, [["x", 0, 0]]]], True), ([[0, [["x", 0, 2], ["y", 3, 2]]]], True)],
)  # fmt: skip
def test_columns_must_have_one_length_and_lie_in_the_bytes(client, layout, wrong):
    packed = changed("packed", {"type": "bytes", "data": {"id": "b"}})
    client._events([packed, changed("layout", json.dumps(layout)), changed("parcel", 1)], {"b": bytes(16)})
    assert bool(client.errors) is wrong


def test_what_the_server_says_after_closing_is_no_error(client):
    client._failed("the server closed the connection")
    client._closed = True
    client._failed("the server closed the connection")
    assert len(client.errors) == 1


def test_numbers_go_to_the_benches_that_take_them(capsys, monkeypatch):
    assert main(["bench", "rate", "--sessions", "3"]) == 2
    assert "bench rate takes no --sessions" in capsys.readouterr().err
    for text in ("0", "-1", "many", "1000000"):
        assert main(["bench", "soak", "--sessions", text]) == 2
        assert "--sessions must be a whole number at least 1 and at most 100,000" in capsys.readouterr().err
    monkeypatch.setattr("benchmarks.soak.run", lambda options: {"asked": options.sessions})
    assert main(["bench", "soak", "--sessions", "7", "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["figures"] == {"asked": 7} and said["command"] == "python -m pmdviz bench soak --sessions 7"


def test_helpers_are_no_benches():
    assert {"load", "soak", "fuzz", "endless"} <= set(benchmarks.names())
    assert not {"client", "crowd", "probe", "strategies", "wire"} & set(benchmarks.names())


@pytest.mark.slow
def test_a_small_crowd_comes_plays_and_is_forgotten():
    with served() as lab:
        before = lab.probe(collect=True)
        crowd = Crowd(lab.url)
        for client in crowd.join(3):
            crowd.do(client.until(lambda client=client: client.iteration >= 3))
        assert lab.probe()["sessions"] >= 3
        assert crowd.errors == [] and lab.complaints() == []
        crowd.do(crowd.clients[0].close(cut=True))
        crowd.leave()
        for _ in range(60):
            time.sleep(1)
            after = lab.probe(collect=True)
            if after["sessions"] <= 1 and after["labs"] <= 2:  # the page that waits for the next visitor, and no more
                break
        assert after["sessions"] <= 1
        assert after["labs"] <= before["labs"] + 1
