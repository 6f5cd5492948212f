"""Files of records: whole lines, one writer, nothing lost."""

import dataclasses
import os
from pathlib import Path

import pytest

from tests.wtlib.sweeps.made_up import record
from wtlib import sweeps
from wtlib.errors import WtlibError
from wtlib.sweeps import RecordFile, Records, Run, Sweep

FIRST, SECOND = record(3.25), record(None, seed=1)


def filled(folder: Path) -> RecordFile:
    file = RecordFile(folder / "tiny.jsonl")
    with file.held():
        file.append(FIRST)
        file.append(SECOND)
    return file


def test_records_read_back_as_they_were_written(tmp_path: Path) -> None:
    assert filled(tmp_path).read() == [FIRST, SECOND]


def test_a_torn_last_line_is_no_record_and_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    file = filled(tmp_path)
    whole = file.path.read_bytes()
    for cut in (1, 40, len(SECOND.to_line()) - 1):
        file.path.write_bytes(whole[:-cut])
        assert file.read() == [FIRST]
        with file.held():
            assert file.path.read_bytes() == FIRST.to_line()
            file.append(SECOND)
        assert file.path.read_bytes() == whole


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    file = filled(tmp_path)
    message = "tiny.jsonl is being written by another sweep; wait until it ends, or stop it"
    with (
        file.held(),
        pytest.raises(WtlibError, match=message),
        RecordFile(file.path).held(),
    ):
        pass
    with RecordFile(file.path).held():
        pass


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b"[1]", b'{"config": {"kind": "x"}}'])
def test_a_whole_line_that_is_no_record_is_named(tmp_path: Path, line: bytes) -> None:
    file = filled(tmp_path)
    file.path.write_bytes(FIRST.to_line() + line + b"\n" + SECOND.to_line())
    with pytest.raises(WtlibError, match=r"tiny.jsonl, line 2 is no record \(.*remove the line"):
        file.read()


def test_a_full_disk_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = filled(tmp_path)
    before = file.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, line: write(handle, line[:9]))
    with pytest.raises(WtlibError, match="the disk is full, a record was not written"):
        file.append(FIRST)
    assert file.path.read_bytes() == before


def test_a_record_by_other_code_is_stale_and_gives_way_to_one_by_todays() -> None:
    runs = (FIRST.run, Run(FIRST.config, 1), Run(FIRST.config, 2))
    sweep = Sweep("tiny", runs)
    old = record(3.5, code="0123456789abcdef")
    older_second = dataclasses.replace(SECOND, code="0123456789abcdef")
    records = Records.of(sweep, [old, FIRST, older_second, record(9.0, seed=7)])
    assert list(records) == [FIRST, older_second]
    assert records.stale == (older_second,)
    assert records.missing == runs[2:]
    assert records.diverged == (older_second,)
    assert list(Records.of(sweep, [FIRST, old])) == [FIRST]


def test_a_page_can_say_what_is_missing_stale_or_diverged() -> None:
    runs = (FIRST.run, SECOND.run, Run(FIRST.config, 2))
    stale = dataclasses.replace(SECOND, code="0123456789abcdef")
    assert Records.of(Sweep("tiny", runs), [FIRST, stale]).note == (
        "2 of 3 runs of tiny are recorded. 1 of them were made by other code than today's: "
        "make sweep SWEEP=tiny runs them again. 1 diverged."
    )
    assert Records.of(Sweep("tiny", runs[:1]), [FIRST]).note == (
        "1 of 1 runs of tiny are recorded."
    )


def test_records_can_be_chosen_by_setting_and_seed() -> None:
    records = Records.of(Sweep("tiny", (FIRST.run, SECOND.run)), [FIRST, SECOND])
    assert list(records.where(seed=1, tie_word_embeddings=True)) == [SECOND]
    assert len(records.where(d_model=9)) == len(records.where(d_model=9).missing) == 0
    with pytest.raises(WtlibError, match="'width' is no setting of sweep tiny; there are"):
        records.where(width=3)


def test_a_sweep_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WtlibError, match=r"cross-layer\.jsonl holds no run of sweep cross-layer"):
        sweeps.load("cross-layer", tmp_path)
