"""CMake's language as CMake reads it: the judge is CMake itself."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from patchq.engine.build.cmake.program import find_cmake
from patchq.engine.languages.cmake_text import NotCMakeError, blocks
from patchq.engine.languages.outline import outline

SAMPLE = """\
# A comment (
#[[ and one "
that goes on ]]
cmake_minimum_required(VERSION 3.25)
#[=[ brackets ]] ]=]
function(Add_Kernel name)  # Add_Kernel(ops a.cu)
  if(NOT TARGET ${name} AND (A OR "b)"))
    add_library(${name} -DX="a b" $(ENV) [=[
raw ( " ]]]=] \\( a;b)
  elseif(C)
  else()
  endif()
endfunction()
MACRO (shout)
  foreach(each IN ITEMS 1 2)
    while(FALSE)
    endwhile()
  endforeach()
ENDMACRO()
"""
BITS = (
    *("(", ")", '"', "[[", "]]", "#", "\n", "#[[", "[=[", "\\", "=", ";", " ", "word", 'a"b"'),
    *("endif()", "else()\n", "function(x)\n", "$(A)", "if(A)\n", "elseif(B)\n"),
)


def accepted(text: str) -> bool:
    try:
        blocks(text.encode())
    except NotCMakeError:
        return False
    return True


def accepted_by_cmake(text: str, script: Path) -> bool:
    """Whether CMake parses ``text``; it parses a file as a whole before it runs the first line."""
    script.write_text(f"return()\n{text}")
    cmake = find_cmake()
    assert cmake is not None
    done = subprocess.run([cmake.program, "-P", str(script)], capture_output=True, check=False)
    return done.returncode == 0


def mutated(text: str, source: random.Random) -> str:
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(text) + 1)
        if source.random() < 0.6:
            text = text[:place] + source.choice(BITS) + text[place:]
        else:
            text = text[:place] + text[place + source.randint(1, 9) :]
    return text


def agree(count: int, tmp_path: Path) -> None:
    source = random.Random(count)
    taken = 0
    for _ in range(count):
        text = mutated(SAMPLE, source)
        by_cmake = accepted_by_cmake(text, tmp_path / "a.cmake")
        assert accepted(text) == by_cmake, text
        taken += by_cmake
    assert 0 < taken < count


def test_what_cmake_takes_is_taken(tmp_path: Path) -> None:
    assert accepted(SAMPLE)
    assert accepted("")
    assert accepted("\ufeffset(A 1)\r\n")
    assert accepted_by_cmake(SAMPLE, tmp_path / "a.cmake")
    agree(15, tmp_path)


@pytest.mark.slow
def test_what_cmake_takes_is_taken_at_length(tmp_path: Path) -> None:
    agree(400, tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("set(A 1\n\nset(B 2)\n", 1, "set() is not closed"),
        ('set(A 1)\nset(B "2)\n', 2, "a quote is not closed"),
        ("set(A [[1)\n", 1, "a bracket is not closed"),
        ("set(A 1) set(B 2)\n", 1, "not well formed"),
        ("\nset\n(A)\n", 2, "not followed by a parenthesis"),
        ("set(A)\n)\n", 2, "not well formed"),
        ("if(A)\nendwhile()\n", 2, "endwhile() closes nothing"),
        ("set(A 1)\nif(A)\nset(B 2)\n", 2, "if() is not closed"),
        ("if(A)\nelse()\nelseif(B)\nendif()\n", 3, "elseif() closes nothing"),
    ],
)
def test_what_is_wrong_and_in_which_line(text: str, line: int, why: str, tmp_path: Path) -> None:
    with pytest.raises(NotCMakeError, match=r".") as caught:
        blocks(text.encode())
    assert why in caught.value.text
    assert caught.value.line == line
    assert not accepted_by_cmake(text, tmp_path / "a.cmake")


def test_the_outline_of_a_file() -> None:
    found = outline("cmake/ops.cmake", SAMPLE.encode())
    assert found is not None
    assert [(each.name, each.first, each.last) for each in found.definitions] == [
        ("add_kernel", 5, 12),
        ("shout", 13, 18),
    ]
    assert outline("CMakeLists.txt", b"function(a)\n") is None
