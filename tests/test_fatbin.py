"""What a built wheel holds, read from its libraries, against what was predicted of it."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from commandline import CommandLine

from patchq.engine.verify.wheel.check import manifest_predictions, verify_wheel
from patchq.engine.verify.wheel.fatbin import read_library, read_wheel
from patchq.errors import InputError
from patchq.model.prediction import (
    PredictedLibrary,
    Prediction,
    predict,
    prediction_facts,
)
from patchq.model.settings import Target
from patchq.model.verification import Build, BuiltTarget, Outcome, SourceGroup, TargetBuild
from patchq.model.wheel import Library, WheelReport

DATA = Path(__file__).parent / "data"
PTX, CUBIN = 1, 2
A, F = 0x100000, 0x200000
COMPRESSED = 0x8000

Code = tuple[int, int, int]
"""Kind, architecture's number, flags."""


def container(codes: Iterable[Code]) -> bytes:
    """A container of nvcc's: one for each translation unit."""
    entries = b""
    for kind, number, flags in codes:
        payload = b"\x28\xb5\x2f\xfd" + b"\x50\xed\x55\xba" * 3  # looks like a header, is not one
        entries += struct.pack(
            "<HHIQIIHHIIIQ16x", kind, 0x101, 64, 16, 9, 0, 8, 1, number, 0, 0, 0x11 | flags
        )
        entries += payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def elf(sections: Mapping[str, bytes]) -> bytes:
    """A 64-bit little-endian ELF file of just these sections."""
    names, contents, rows = b"\0", b"", [(0, 0, 0, 0)]
    for name, content in sections.items():
        rows.append((len(names), 1, 64 + len(contents), len(content)))
        names += name.encode() + b"\0"
        contents += content
    rows.append((len(names), 3, 64 + len(contents), len(names) + 10))
    contents += names + b".shstrtab\0"
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        *(3, 183, 1, 0, 0, 64 + len(contents), 0, 64, 0, 0, 64, len(rows), len(rows) - 1),
    )
    table = (struct.pack("<IIQQQQIIQQ", n, t, 0, 0, o, s, 0, 0, 8, 0) for n, t, o, s in rows)
    return header + contents + b"".join(table)


def library(*units: Sequence[Code], gap: int = 0) -> bytes:
    section = (b"\0" * gap).join(container(unit) for unit in units)
    return elf({".text": b"code", ".nv_fatbin": section, ".data": b"data"})


def make_wheel(directory: Path, files: Mapping[str, bytes], platform: str = "aarch64") -> Path:
    file = directory / f"demo_kernel-1.0-cp310-abi3-manylinux2014_{platform}.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    return file


def test_architectures_are_counted() -> None:
    unit = [(CUBIN, 90, A), (CUBIN, 100, F), (CUBIN, 121, A | COMPRESSED), (PTX, 90, 0)]
    read = read_library("k.so", library(unit, unit[:1], [(CUBIN, 90, 0)]))
    assert read == Library(
        "k.so",
        {"sm_90": 1, "sm_90a": 2, "sm_100f": 1, "sm_121a": 1},
        {"compute_90": 1},
    )
    assert list(read.cubins) == ["sm_90", "sm_90a", "sm_100f", "sm_121a"]


@pytest.mark.parametrize("gap", [0, 8, 40])
def test_padding_between_containers_is_passed_over(gap: int) -> None:
    read = read_library("k.so", library([(CUBIN, 90, A)], [(CUBIN, 90, A)], gap=gap))
    assert read.cubins == {"sm_90a": 2}


def test_relocatable_device_code_counts_too() -> None:
    content = elf({"__nv_relfatbin": container([(CUBIN, 120, A)])})
    assert read_library("k.so", content).cubins == {"sm_120a": 1}


def test_a_library_without_gpu_code() -> None:
    assert read_library("k.so", elf({".text": b"code"})) == Library("k.so")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF\x01\x01" + b"\0" * 80,
        library([(CUBIN, 90, A)])[:200],
        library([(CUBIN, 90, A)]).replace(struct.pack("<Q", 80), struct.pack("<Q", 8000), 1),
        elf({".nv_fatbin": container([(CUBIN, 90, A)])[:-70]}),
    ],
)
def test_what_is_cut_off_is_an_error(content: bytes) -> None:
    with pytest.raises(InputError, match="not a whole ELF library") as caught:
        read_library("pkg/k.so", content)
    assert str(caught.value).startswith("pkg/k.so: ")


def test_a_wheel_is_read_by_its_libraries(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path,
        {
            "demo/k.abi3.so": library([(CUBIN, 90, 0)]),
            "demo/host.so": elf({".text": b""}),
            "demo/k.py": b"",
        },
    )
    assert read_wheel(wheel) == (Library("demo/k.abi3.so", {"sm_90": 1}),)
    (tmp_path / "no.whl").write_bytes(b"PK")
    with pytest.raises(InputError, match="not a readable wheel"):
        read_wheel(tmp_path / "no.whl")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_wheel_with_spoilt_content_is_an_error(tmp_path: Path, method: int) -> None:
    file = tmp_path / "k.whl"
    with zipfile.ZipFile(file, "w", method) as wheel:
        wheel.writestr("k.so", bytes(range(256)) * 40)
    raw = bytearray(file.read_bytes())
    start = raw.index(b"k.so") + 4
    raw[start : start + 40] = b"\xff" * 40
    file.write_bytes(raw)
    with pytest.raises(InputError, match="not a readable wheel"):
        read_wheel(file)


@pytest.mark.parametrize(("field", "value"), [(6, b"\x01\x00"), (8, b"\x63\x00")])
def test_a_wheel_that_is_encrypted_or_packed_in_an_unknown_way_is_an_error(
    tmp_path: Path, field: int, value: bytes
) -> None:
    file = make_wheel(tmp_path, {"k.so": library([(CUBIN, 90, 0)])})
    raw = bytearray(file.read_bytes())
    for signature, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        place = raw.index(signature) + field + shift
        raw[place : place + 2] = value
    file.write_bytes(raw)
    with pytest.raises(InputError, match="not a readable wheel"):
        read_wheel(file)


def prediction(
    *libraries: PredictedLibrary, machine: str = "gb10", processor: str = "aarch64"
) -> Prediction:
    return Prediction(machine, processor, "13.0", libraries)


def words(report: WheelReport) -> list[str]:
    return [failure.text for failure in report.section.failures]


def test_two_libraries_of_one_name_find_their_targets(tmp_path: Path) -> None:
    unit = [(CUBIN, 90, A)]
    wheel = make_wheel(
        tmp_path,
        {
            "demo/sm90/common_ops.abi3.so": library(unit),
            "demo/sm100/common_ops.abi3.so": library([(CUBIN, 100, A)]),
            "demo/ops.cpython-310-aarch64-linux-gnu.so": library(unit, unit),
        },
    )
    report = verify_wheel(
        wheel,
        [
            prediction(
                PredictedLibrary("ops", {"sm_90a": 2}),
                PredictedLibrary("common_ops_sm100_build", {"sm_100a": 1}),
                PredictedLibrary("common_ops_sm90_build", {"sm_90a": 1}),
            )
        ],
    )
    assert words(report) == []
    assert report.section.outcome is Outcome.PASSED
    assert len(report.rows) == 3


def test_every_difference_is_named(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path,
        {
            "demo/a.so": library([(CUBIN, 90, 0), (CUBIN, 121, A)]),
            "demo/b.so": library([(CUBIN, 121, A)]),
            "demo/more.so": library([(PTX, 90, 0)]),
        },
    )
    report = verify_wheel(
        wheel,
        [
            prediction(
                PredictedLibrary("a", {"sm_121a": 1}),
                PredictedLibrary("b", {"sm_121a": 2}),
                PredictedLibrary("gone", {"sm_121a": 3}),
            )
        ],
    )
    assert words(report) == [
        "demo/a.so holds 1 sm_90, 1 sm_121a, predicted were 1 sm_121a",
        "demo/b.so holds 1 sm_121a, predicted were 2 sm_121a",
        "demo/more.so was not predicted; it holds 1 compute_90",
        "gone is missing; predicted were 3 sm_121a",
    ]
    assert report.section.outcome is Outcome.FAILED


def test_the_platform_chooses_the_prediction(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, {"k.so": library([(CUBIN, 90, 0)])}, platform="x86_64")
    arm = prediction(machine="gb10")
    two = [
        prediction(PredictedLibrary("k", {sm: 1}), machine=name, processor="x86_64")
        for name, sm in (("one", "sm_90"), ("two", "sm_80"))
    ]
    assert verify_wheel(wheel, [arm, two[0]]).machine == "one"
    assert verify_wheel(wheel, [arm, *two], "two").machine == "two"
    with pytest.raises(InputError, match="2 predictions fit") as caught:
        verify_wheel(wheel, [arm, *two])
    assert caught.value.hint == "Name one with --target: gb10, one, two."
    with pytest.raises(InputError, match="no prediction for three"):
        verify_wheel(wheel, two, "three")


def test_a_prediction_sums_what_each_source_is_compiled_for() -> None:
    built = BuiltTarget(
        "k",
        (
            SourceGroup("CUDA", ("a.cu", "b.cu"), archs=("sm_90a", "sm_121a")),
            SourceGroup("CUDA", ("c.cu",), archs=("sm_121a", "compute_90")),
            SourceGroup("CXX", ("d.cc",)),
        ),
    )
    target = Target("gb10", "aarch64", "13.0")
    after = Build((built, BuiltTarget("host", (SourceGroup("CXX", ("e.cc",)),))))
    found = predict([TargetBuild(target, Build(), after)])
    assert found == (
        prediction(PredictedLibrary("k", {"sm_90a": 2, "sm_121a": 3}, {"compute_90": 1})),
    )


def write_manifest(file: Path, **facts: object) -> Path:
    file.write_text(json.dumps({"schema": "patchq.manifest/1", **facts}))
    return file


def test_a_manifest_alone_predicts(tmp_path: Path) -> None:
    expected = (prediction(PredictedLibrary("k", {"sm_90": 1}, {"compute_90": 2})),)
    file = write_manifest(tmp_path / "m.json", builds=prediction_facts(expected))
    assert manifest_predictions(file) == expected
    for facts, complaint in (
        ({}, "predicts no build"),
        ({"builds": [{"machine": "x"}]}, "malformed"),
        ({"schema": "other/1"}, "not a manifest"),
    ):
        with pytest.raises(InputError, match=complaint):
            manifest_predictions(write_manifest(tmp_path / "bad.json", **facts))
    with pytest.raises(InputError, match="cannot read it"):
        manifest_predictions(tmp_path / "missing.json")


def test_the_command_needs_a_manifest_and_nothing_else(patchq: CommandLine, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, {"demo/k.so": library([(CUBIN, 121, A)])})
    expected = prediction_facts([prediction(PredictedLibrary("k", {"sm_121a": 1}))])
    file = write_manifest(tmp_path / "m.json", builds=expected)
    empty = {"PATH": str(tmp_path / "empty")}
    done = patchq("verify", "--wheel", wheel, "--manifest", file, cwd=tmp_path, env=empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert "equal  demo/k.so (k)" in done.stdout
    expected[0]["libraries"][0]["cubins"] = {"sm_90": 1}
    write_manifest(file, builds=expected)
    done = patchq("verify", "--wheel", wheel, "--manifest", file, cwd=tmp_path, env=empty)
    assert done.returncode == 1
    assert "built      1 sm_121a" in done.stdout
    assert "predicted  1 sm_90" in done.stdout
    done = patchq("verify", "--manifest", file, cwd=tmp_path)
    assert (done.returncode, "goes with --wheel" in done.stderr) == (2, True)


@pytest.mark.registry
def test_a_release_wheel_is_as_predicted(tmp_path: Path) -> None:
    from patchq.archives.pypi import Requirement, download

    wheel = download(
        Requirement("sglang-kernel", "0.4.5"), tmp_path, platform="manylinux2014_aarch64"
    )
    report = verify_wheel(wheel, manifest_predictions(DATA / "sglang-kernel-0.4.5.manifest.json"))
    assert words(report) == []
    assert len(report.rows) == 5
    assert all(row.equal for row in report.rows)
