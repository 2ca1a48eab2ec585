"""Which kernel wheels can be loaded with which PyTorch, told from symbols."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commandline import CommandLine

from patchq.engine.verify.wheel.symbols import (
    Exports,
    Needed,
    compare_symbols,
    exports_of,
    needed_by,
    read_exports,
    readable,
)
from patchq.errors import InputError
from patchq.model.verification import Outcome

KERNELS = ("0.4.6.post1", "0.4.7", "0.4.9", "0.4.10")
TORCHES = ("2.13.0", "2.14.1")
FITTING = {("0.4.6.post1", "2.13.0"), ("0.4.7", "2.13.0")} | {
    ("0.4.9", "2.14.1"),
    ("0.4.10", "2.14.1"),
}
ARM = "AArch64"


def listed(row: int, column: int) -> frozenset[str]:
    """The symbols of release wheels: a row of ``KERNELS`` or ``TORCHES`` by place."""
    lines = (
        Path(__file__).with_name("data").joinpath("torch_symbols.txt").read_text().splitlines()[1:]
    )
    words = (line.split() for line in lines)
    return frozenset(words[2] for words in words if words[row][column] == "+")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("torch", TORCHES)
def test_symbols_of_release_wheels(kernel: str, torch: str) -> None:
    needed = Needed("sm100/common_ops.abi3.so", ARM, listed(0, KERNELS.index(kernel)))
    exports = Exports(torch, listed(1, TORCHES.index(torch)), ARM)
    section = compare_symbols(f"kernel-{kernel}", [needed], exports)
    fits = (kernel, torch) in FITTING
    assert section.outcome is (Outcome.PASSED if fits else Outcome.FAILED)
    told = " ".join(failure.text for failure in section.failures)
    if not fits:
        missing = "c10_cuda_check_implementation" if torch == "2.14.1" else "CUDAErrorLogCapture"
        assert f"needs c10::cuda::{missing}" in told


def test_another_processor_does_not_fit() -> None:
    section = compare_symbols(
        "k", [Needed("a.so", "x64", frozenset())], Exports("t", frozenset(), ARM)
    )
    assert [failure.text for failure in section.failures] == ["a.so is for x64, t for AArch64"]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN3c104cuda19CUDAErrorLogCaptureC1Ev", "c10::cuda::CUDAErrorLogCapture::"),
        ("_ZNK2at10TensorBase8data_ptrIfEEPT_v", "at::TensorBase::data_ptr ("),
        ("_ZTVN5torch8autograd4NodeE", "torch::autograd::Node ("),
        ("THPGeneratorClass", "THPGeneratorClass"),
    ],
)
def test_names_are_readable(symbol: str, name: str) -> None:
    assert readable(symbol).startswith(name)


LIBRARY = """\
namespace c10 { struct Missing { Missing(); }; void weak() __attribute__((weak)); int there(); }
namespace mine { int c10_only_in_the_arguments(c10::Missing &); }
int use() { c10::Missing m; if (c10::weak) c10::weak(); return c10::there(); }
"""
TORCH = "namespace c10 { int there() { return 1; } }"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that needs three symbols, and an installed torch that has one of them."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    root = tmp_path_factory.mktemp("built")
    (root / "torch/lib").mkdir(parents=True)
    for source, library in ((LIBRARY, "ops.so"), (TORCH, "torch/lib/libc10.so")):
        (root / "source.cc").write_text(source)
        command = ["c++", "-shared", "-fPIC", "-nostdlib", "-o", library, "source.cc"]
        subprocess.run(command, cwd=root, check=True)
    for wheel, library in (("k.whl", "ops.so"), ("torch-1.whl", "torch/lib/libc10.so")):
        with zipfile.ZipFile(root / wheel, "w") as packed:
            packed.write(root / library, library)
    return root


def test_libraries_are_read(built: Path) -> None:
    [needed] = needed_by(built / "k.whl")
    assert needed.symbols == {"_ZN3c107MissingC1Ev", "_ZN3c105thereEv"}
    for place in (built, built / "torch", built / "torch/lib", built / "torch-1.whl"):
        exports = exports_of(place)
        assert exports.machine == needed.machine
        assert "_ZN3c105thereEv" in exports.symbols
    with pytest.raises(InputError, match="has no libraries"):
        exports_of(built / "k.whl")
    with pytest.raises(InputError, match="there is no libc10"):
        exports_of(Path(os.devnull).parent)
    with pytest.raises(InputError, match="cannot be read"):
        needed_by(built / "source.cc")


def test_the_command(patchq: CommandLine, built: Path) -> None:
    done = patchq("verify", "--wheel", "k.whl", "--torch", "torch-1.whl", cwd=built)
    assert done.returncode == 1, done.stderr
    assert "needs c10::Missing::Missing" in " ".join(done.stdout.split())
    dumped = "torch/lib/libc10.so:\n0000 T _ZN3c105thereEv\n0001 T _ZN3c107MissingC1Ev@@V1\n"
    done = patchq("verify", "--wheel", "k.whl", "--torch", "-", cwd=built, stdin=dumped)
    assert done.returncode == 0, done.stderr
    done = patchq("verify", "--torch", "torch-1.whl", cwd=built)
    assert (done.returncode, "--torch goes with --wheel" in done.stderr) == (2, True)


def test_symbols_from_nm() -> None:
    text = "lib.so:\n                 U _ZN3c101xEv\n00 T _ZN3c101yEv\n_ZN3c101zEv\n"
    assert read_exports(text).symbols == {"_ZN3c101yEv", "_ZN3c101zEv"}
    with pytest.raises(InputError, match="no symbol of PyTorch"):
        read_exports("hello\n")


@pytest.mark.registry
@pytest.mark.release
def test_release_wheels(tmp_path: Path) -> None:
    """The wheels themselves, 1 GB in all."""

    def wheel(requirement: str) -> Path:
        to = tmp_path / requirement
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(to)]
        command += ["--only-binary=:all:", "--python-version", "3.12"]
        for platform in ("manylinux2014_aarch64", "manylinux_2_28_aarch64"):
            command += ["--platform", platform]
        subprocess.run([*command, requirement], check=True)
        return next(to.iterdir())

    torches = {version: exports_of(wheel(f"torch=={version}")) for version in TORCHES}
    for kernel in KERNELS:
        needed = needed_by(wheel(f"sglang-kernel=={kernel}"))
        for version, exports in torches.items():
            passed = compare_symbols("k", needed, exports).outcome is Outcome.PASSED
            assert passed is ((kernel, version) in FITTING), (kernel, version)
