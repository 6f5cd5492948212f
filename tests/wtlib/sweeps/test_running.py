"""Sweeps that run, are killed, meet each other, and lose workers of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.wtlib.sweeps.made_up import record
from tests.wtlib.sweeps.tiny import BASE, GPT, SWEEP
from wtlib import sweeps
from wtlib.cli import main
from wtlib.errors import WtlibError
from wtlib.sweeps import Progress, RecordFile, Run, Sweep

GIVE_UP = 120
"""Seconds; a test that waits longer has failed."""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the tiny sweep in a process of its own."""
    command = [sys.executable, "-m", "tests.wtlib.sweeps.tiny", str(folder)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def recorded(folder: Path) -> list[Run]:
    return [line.run for line in RecordFile(folder / "tiny.jsonl").read()]


def wait_for_a_record(folder: Path) -> None:
    deadline = time.monotonic() + GIVE_UP
    while not recorded(folder):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_each_once(runs: list[Run]) -> None:
    assert Counter(runs) == Counter(SWEEP.runs)


@pytest.mark.parametrize("config", [BASE, GPT])
def test_a_record_says_what_ran_and_repeats_to_the_digit(config: sweeps.RunConfig) -> None:
    first, again = (sweeps.execute("tiny", Run(config, 1)) for _ in range(2))
    assert first.metrics == again.metrics
    assert first.curve == again.curve
    assert not first.stale
    assert first.metrics["n_parameters"] == config.model.n_parameters
    assert first.machine["threads"] == 1
    assert set(first.versions) == {"python", "wtlib", "torch", "numpy"}
    assert 0 < first.seconds < GIVE_UP


def test_a_run_that_diverges_is_recorded_as_such() -> None:
    diverged = sweeps.execute("tiny", Run(BASE.with_settings(init_std=1e38), 0))
    assert diverged.diverged
    assert diverged.number("valid_loss") is None
    assert "NaN" not in diverged.to_line().decode()


def test_a_sweep_on_two_processes_finishes_every_run_once_and_never_again(tmp_path: Path) -> None:
    seen: list[Progress] = []
    records = sweeps.run(SWEEP, tmp_path, jobs=2, report=seen.append)
    assert_each_once(recorded(tmp_path))
    assert [progress.done for progress in seen] == list(range(1, 13))
    assert seen[-1].seconds_left == 0 < seen[0].seconds_left
    assert records.missing == ()
    assert records.stale == ()
    seen.clear()
    assert sweeps.run(SWEEP, tmp_path, report=seen.append) == records
    assert seen == []


def test_a_killed_sweep_goes_on_where_it_was_and_a_second_one_is_refused(tmp_path: Path) -> None:
    first = start(tmp_path)
    wait_for_a_record(tmp_path)
    second = start(tmp_path)
    _, complaint = second.communicate(timeout=GIVE_UP)
    assert second.returncode == 1
    assert "tiny.jsonl is being written by another sweep" in complaint
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=GIVE_UP)
    before = recorded(tmp_path)
    assert 0 < len(before) < len(SWEEP.runs)
    with (tmp_path / "tiny.jsonl").open("ab") as file:
        file.write(b'{"sweep": "tiny", "conf')
    sweeps.run(SWEEP, tmp_path)
    after = recorded(tmp_path)
    assert after[: len(before)] == before
    assert_each_once(after)


def test_a_cluster_that_loses_a_worker_finishes_every_run_once(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    killed: list[int] = []
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster) as observer:

        def kill_one(progress: Progress) -> None:
            if killed:
                return
            busy = [address for address, runs in observer.processing().items() if runs]
            pids = observer.run(os.getpid)
            killed.append(pids[busy[-1]])
            os.kill(killed[0], signal.SIGKILL)

        records = sweeps.run(SWEEP, tmp_path, scheduler=cluster.scheduler_address, report=kill_one)
    assert len(killed) == 1
    assert records.missing == ()
    assert_each_once(recorded(tmp_path))


def test_no_scheduler_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.running, "CONNECT_SECONDS", 0.5)
    with pytest.raises(WtlibError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        sweeps.run(SWEEP, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_no_dask_is_an_error_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WtlibError, match="a scheduler needs Dask: pip install"):
        sweeps.run(SWEEP, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_a_worker_with_other_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = record(3.0, code="0123456789abcdef")
    monkeypatch.setattr(sweeps.running, "execute", lambda name, run: foreign)
    with pytest.raises(WtlibError, match=r"a worker has other code \(hash 0123456789abcdef"):
        sweeps.run(Sweep("tiny", (foreign.run,)), tmp_path)
    assert recorded(tmp_path) == []


def test_no_processes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WtlibError, match="jobs=0: a sweep needs at least one process"):
        sweeps.run(SWEEP, tmp_path, jobs=0)


def test_the_shell_lists_the_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--records", str(tmp_path)]) == 0
    assert "0 of 84 runs of cross-layer are recorded." in capsys.readouterr().out
    assert main(["sweep", "nonsense", "--records", str(tmp_path)]) == 2
    assert "'nonsense' is no sweep of the book" in capsys.readouterr().err


def test_the_shell_runs_a_sweep_and_says_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "find", lambda name: Sweep("tiny", (Run(GPT, 0), Run(GPT, 1))))
    assert main(["sweep", "tiny", "--jobs", "1", "--records", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == "2 of 2 runs of tiny are recorded.\n"
    assert err.startswith("1/2 tiny seed 0: valid ")
    assert err.endswith("0 min left\n")


def test_a_sweep_can_be_stopped_from_the_keyboard(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "run", interrupted)
    assert main(["sweep", "cross-layer"]) == 130
    assert capsys.readouterr().err == "wtlib: stopped; the same command goes on from here\n"
