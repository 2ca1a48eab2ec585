"""Wheels brought by pip: which one, and what is checked. Offline: pip looks in a directory."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pytest

from patchq.archives.pypi import Requirement, download, parse_requirement
from patchq.archives.reader import sha256_of
from patchq.errors import InputError, UpstreamError

ONE = Requirement("demo-pkg", "1.0")
X86 = "demo_pkg-1.0-cp312-cp312-manylinux_2_34_x86_64.whl"
ARM = "demo_pkg-1.0-cp312-cp312-manylinux_2_34_aarch64.whl"
OLD = "demo_pkg-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
STABLE = "demo_pkg-1.0-cp39-abi3-macosx_11_0_arm64.whl"
PURE = "demo_pkg-1.0-py3-none-any.whl"
BOTH = "demo_pkg-1.0-py2.py3-none-any.whl"


def make_wheel(directory: Path, name: str) -> Path:
    version = name.split("-")[1]
    info = f"demo_pkg-{version}.dist-info"
    file = directory / name
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("demo_pkg/__init__.py", f"name = {name!r}\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: demo-pkg\nVersion: {version}\n"
        )
        tag = "-".join(name.removesuffix(".whl").split("-")[-3:])
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: t\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")
    return file


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi:sglang==0.5.20", Requirement("sglang", "0.5.20")),
        ("pypi:a.b-c_d==1!2.0rc1+cu128", Requirement("a.b-c_d", "1!2.0rc1+cu128")),
        ("dist/sglang-0.5.20.tar.gz", None),
        ("sglang==0.5.20", None),
    ],
)
def test_a_requirement_is_told_from_a_file(text: str, expected: Requirement | None) -> None:
    assert parse_requirement(text) == expected


@pytest.mark.parametrize(
    "text", ["pypi:", "pypi:x", "pypi:x>=1", "pypi:x==1.*", "pypi:-r==1", "pypi:x==1 --pre"]
)
def test_anything_but_one_version_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="does not name one version"):
        parse_requirement(text)


@pytest.mark.parametrize("file", [X86, ARM, OLD, STABLE, PURE, BOTH])
def test_a_pinned_file_is_brought_on_any_machine(tmp_path: Path, index: Path, file: str) -> None:
    for name in (X86, ARM, OLD, STABLE, file):
        make_wheel(index, name)
    brought = download(ONE, tmp_path / "out", file=file, sha256=sha256_of(index / file))
    assert brought == tmp_path / "out" / file
    assert brought.read_bytes() == (index / file).read_bytes()
    assert list(brought.parent.iterdir()) == [brought]


def test_a_local_version_is_not_taken_for_the_public_one(tmp_path: Path, index: Path) -> None:
    make_wheel(index, PURE)
    make_wheel(index, "demo_pkg-1.0+cu128-py3-none-any.whl")
    assert download(ONE, tmp_path / "out", file=PURE).name == PURE


def test_a_pure_wheel_is_preferred(tmp_path: Path, index: Path) -> None:
    make_wheel(index, PURE)
    make_wheel(index, X86)
    assert download(ONE, tmp_path / "out").name == PURE


def test_python_and_platform_choose(tmp_path: Path, index: Path) -> None:
    for name in (X86, ARM, OLD):
        make_wheel(index, name)
    chosen = download(ONE, tmp_path, python="3.12", platform="manylinux_2_34_aarch64")
    assert chosen.name == ARM


def test_another_sha256_names_both_and_keeps_nothing(tmp_path: Path, index: Path) -> None:
    found = sha256_of(make_wheel(index, PURE))
    with pytest.raises(UpstreamError) as caught:
        download(ONE, tmp_path / "out", file=PURE, sha256="0" * 64)
    assert found in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_another_build_of_the_same_tags_is_not_taken(tmp_path: Path, index: Path) -> None:
    make_wheel(index, "demo_pkg-1.0-2-py3-none-any.whl")
    with pytest.raises(UpstreamError, match=r"1\.0-2-py3.* the lock has demo_pkg-1\.0-py3"):
        download(ONE, tmp_path / "out", file=PURE)


def test_a_file_with_the_pinned_sha256_is_not_brought_again(tmp_path: Path, index: Path) -> None:
    kept = make_wheel(tmp_path, PURE)
    assert list(index.iterdir()) == []
    assert download(ONE, tmp_path, file=PURE, sha256=sha256_of(kept)) == kept


def test_a_source_distribution_is_left_to_the_user(tmp_path: Path, index: Path) -> None:
    (index / "demo_pkg-1.0.tar.gz").touch()
    with pytest.raises(UpstreamError, match="only a wheel") as caught:
        download(ONE, tmp_path / "out", file="demo_pkg-1.0.tar.gz")
    assert "give its path" in (caught.value.hint or "")
    with pytest.raises(UpstreamError, match="pip brought no wheel"):
        download(ONE, tmp_path / "out")


def test_pips_own_reason_in_one_line(tmp_path: Path, index: Path) -> None:
    make_wheel(index, PURE)
    with pytest.raises(UpstreamError) as caught:
        download(Requirement("demo-pkg", "9"), tmp_path / "out")
    message = "pip brought no wheel of demo-pkg==9: No matching distribution found for demo-pkg==9"
    assert str(caught.value) == message


@pytest.mark.usefixtures("index")
def test_without_pip_the_user_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UpstreamError, match="pip is not installed"):
        download(ONE, tmp_path / "out")


@pytest.mark.usefixtures("index")
def test_a_pip_in_the_current_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UpstreamError):
        download(ONE, tmp_path / "out")
    assert not (tmp_path / "ran").exists()


@pytest.mark.registry
def test_a_real_wheel_for_another_machine(tmp_path: Path) -> None:
    file = "MarkupSafe-3.0.2-cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64.whl"
    brought = download(Requirement("markupsafe", "3.0.2"), tmp_path, file=file)
    assert brought.name == file
    assert zipfile.ZipFile(brought).testzip() is None


@pytest.mark.registry
def test_a_real_pure_wheel(tmp_path: Path) -> None:
    brought = download(Requirement("iniconfig", "2.0.0"), tmp_path)
    assert brought.name == "iniconfig-2.0.0-py3-none-any.whl"
    assert sha256_of(brought) == "b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374"
