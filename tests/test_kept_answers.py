"""Kept answers: what is not exactly as it was written is never used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchq.files import replace_file, sweep
from patchq.kept_answers import KeptAnswers

KEY = "ab" * 32


def kept(directory: Path, version: str = "test/1") -> KeptAnswers[dict[str, int]]:
    return KeptAnswers(directory, version, dict[str, int], dict)


def only_file(directory: Path) -> Path:
    (file,) = (file for file in directory.rglob("*") if file.is_file())
    return file


def test_an_answer_is_read_as_it_was_kept(tmp_path: Path) -> None:
    kept(tmp_path).put(KEY, {"a": 1})
    assert kept(tmp_path).get(KEY) == {"a": 1}
    assert kept(tmp_path).get("cd" * 32) is None


@pytest.mark.parametrize("bit", [0x01, 0x20, 0x80])
def test_a_flipped_bit_anywhere_drops_the_answer(tmp_path: Path, bit: int) -> None:
    answers = kept(tmp_path)
    answers.put(KEY, {"a": 1000})
    file = only_file(tmp_path)
    whole = file.read_bytes()
    for position in range(len(whole)):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ bit]) + whole[position + 1 :])
        assert answers.get(KEY) is None
        assert not file.exists()


def test_a_file_that_is_cut_off_or_empty_is_no_answer(tmp_path: Path) -> None:
    answers = kept(tmp_path)
    answers.put(KEY, {"a": 1000})
    file = only_file(tmp_path)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert answers.get(KEY) is None


def test_another_version_or_the_file_of_another_key_is_no_answer(tmp_path: Path) -> None:
    kept(tmp_path).put(KEY, {"a": 1})
    file = only_file(tmp_path)
    other = file.with_name(f"{'cd' * 31}.json")
    other.write_bytes(file.read_bytes())
    assert kept(tmp_path).get(KEY[:2] + "cd" * 31) is None
    assert kept(tmp_path, "test/2").get(KEY) is None


def test_what_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    kept(blocked).put(KEY, {"a": 1})
    assert kept(blocked).get(KEY) is None


def test_what_a_killed_process_left_aside_is_removed(tmp_path: Path) -> None:
    (tmp_path / f".x.json.{2**22 + 1}.patchq-new").write_text("cut off")
    mine = tmp_path / f".x.json.{os.getpid()}.patchq-new"
    mine.write_text("being written")
    (tmp_path / f".x.{2**22 + 1}.new").write_text("somebody's")
    sweep(tmp_path)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {mine.name, f".x.{2**22 + 1}.new"}


def test_a_file_that_cannot_be_replaced_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        replace_file(tmp_path / "taken", b"content")
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]
