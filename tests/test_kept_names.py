"""A line that stands as it landed, while what it is part of lost its name to another line."""

from __future__ import annotations

import pytest
from judging import done_about

PYTHON = (
    "import os\n\nLIMIT = 4\n\n\nclass Conn:\n    def open(self, host):\n        a(host)\n"
    "        LINE(host)\n        b(host)\n\n    def close(self):\n        c()\n\n\n"
    "def total(conns):\n    return sum(conns)\n"
)
NEW_OPEN = "    def open(self, host):\n        return engine.open(host)\n"
VALUE = "import os\n\nx = 1\nLINE = 64\n\n\ndef total(conns):\n    return sum(conns)\n"
IMPORTS = "from a import (\n    A,\n    LINE,\n    B,\n    Other,\n)\n\nx = 1\n"
HELD = (
    'D = {\n    "a": 1,\n    "LINE": 2,\n    "z": {"y": 3},\n}\nS = {"x"}\n\n\n'
    "def load(**kw):\n    c = dict(D)\n    c.update(kw)\n    return c\n"
)
INNER = 'D = {\n    "a": {\n        "LINE": 2,\n    },\n}\nS = {"x"}\n'
ITEM = 'x = 1\nD["LINE"] = 2\ny = 3\nz = 4\nS = {"x"}\n'
ELEMENT = 'D = [\n    "a",\n    "LINE",\n    "z",\n]\nS = {"x"}\n'
CALL = 'D = Config(\n    a=1,\n    LINE=2,\n)\nS = {"x"}\n'
INSIDE = (
    'def f(c):\n    d = {\n        "a": 1,\n        "LINE": 2,\n    }\n    g(c)\n    h(c)\n'
    "    i(c)\n    return run(d)\n"
)
OWN = "def f(c):\n    c.LINE = 2\n    g(c)\n    h(c)\n    i(c)\n    j(c)\n    return c\n"
BELOW_IT = 'S = {"x"}\n'
C = (
    '#include "net.h"\n\n#define DEPTH 4\n\nint\nconn_open(struct conn *c)\n{\n\ta(c);\n'
    "\tLINE(c);\n\tb(c);\n\treturn 0;\n}\n\nvoid\nconn_close(struct conn *c)\n{\n\tz(c);\n}\n"
)
HEAD = "int\nconn_open(struct conn *c)\n"
MACRO = "#define A 1\n#define LINE 64\n#define B 2\nint f(void);\n"
CPP = "int Pool::take(int n)\n{\n\ta(n);\n\tLINE(n);\n\treturn n;\n}\n"
SHELL = "jobs=1\nbuild() {\n\tprepare\n\tLINE\n\tstrip app\n}\n\nbuild\n"
BELOW = SHELL.replace("() {", "()\n{")
SETTING = "a=1\nLINE=2\nb=3\nrun $a $LINE $b\n"
EXPORT = "a=1\nexport LINE=2\nb=3\nc=4\nd=5\nmake -j4 all\nbuild() {\n\tmake x\n}\nbuild $a\n"
DOCKER = "FROM a\nENV A=1 \\\n    LINE=2 \\\n    B=3\nRUN one\nRUN pip install .\nFROM b\nRUN two\n"
ARG = "FROM a\nARG A=1\nARG LINE=2\nRUN one\n"
MAKING = "A = 1\nLINE = 2\nall: lib\n\tcc\n\nlib:\n\t$(MAKE) -C sub\n"
CALLS = (
    '#include "net.h"\n\nint\nconn_open(struct conn *c)\n{\n\ta(c);\n\tif (LINE(c) == EAGAIN)\n'
    "\t\tb(c);\n\treturn 0;\n}\n"
)
CMAKE = "function(build x)\n  a(x)\n  LINE(x)\n  b(x)\nendfunction()\nbuild(y)\n"
SET = "set(A 1)\nset(LINE b.c)\nset(B 2)\nadd_library(core ${LINE})\n"
LOCAL = "function(f)\nset(A 1)\nset(LINE b.c)\nset(B 2)\nendfunction()\nuse()\n"
OPTIONS = "add_library(core a.c)\ntarget_compile_options(core PRIVATE LINE)\nuse(core)\n"
MAKE = "A = 1\nLINE = 2\nall: lib\n\tcc\n\nlib:\n\tar\n"
RULE = "all: lib\n\tcc\n\nlib:\n\tar\n\tLINE\n\tranlib\n"
YAML = "on: push\njobs:\n  build:\n    steps:\n    - run: a\n    - run: LINE\n    - run: b\n"
FLOW = (
    "on: push\nenv:\n  A: 1\n  LINE: 2\njobs:\n  build:\n    steps:\n    - run: make all\n"
    "    - run: |\n        one\n        pip install .\n"
)
JSON = '{\n  "a": {\n    "x": 1,\n    "LINE": 2,\n    "y": 3\n  },\n  "b": [\n    4\n  ]\n}\n'
ENTRY = "[[d]]\nx = 1\nLINE = 2\n[d.x]\ny = 1\n[e]\nz = 1\n"
TOML = "[a]\nx = 1\nLINE = 2\n\n[b]\ny = 3\n"


@pytest.mark.parametrize(
    ("path", "then", "old", "new"),
    [
        # a function of the class, of the module, the class itself
        ("f.py", PYTHON, "\n\ndef total", f"{NEW_OPEN}\n\ndef total"),
        ("f.py", PYTHON, "    def close", "    open = engine_open\n\n    def close"),
        ("f.py", PYTHON, "    def close", "    from engine import open\n\n    def close"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nclass Conn:\n    pass\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nConn.open = engine_open\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nsetattr(Conn, 'open', fast)\n\n\ndef total"),
        (
            "f.py",
            PYTHON,
            "\n\ndef total",
            "\n\nsetattr(\n    Conn,\n    'open',\n    f,\n)\n\ndef total",
        ),
        ("f.py", PYTHON, "\n\ndef total", "\n\nother = Conn = fast(a=1)\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\n(\n    Conn,\n    b,\n) = fast()\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nfrom fast import (\n    Conn,\n)\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\ndel Conn.open\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nConn, other = fast, 1\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nfrom fast import Fast as Conn\n\n\ndef total"),
        ("f.py", VALUE, "\n\ndef total", "LINE = 10\n\n\ndef total"),
        ("f.py", VALUE, "\n\ndef total", "LINE: int = 10\n\n\ndef total"),
        ("f.py", VALUE, "sum(conns)\n", "sum(conns)\n\n\ndel LINE\n"),
        *(
            ("f.py", PYTHON, "\n\ndef total", f"\n\n{lines}\n\ndef total")
            for lines in (
                'globals()["Conn"] = Fast\n',
                "sys.modules[__name__].Conn = Fast\n",
                'setattr(sys.modules[__name__], "Conn", Fast)\n',
                "with fast() as Conn:\n    pass\n",
                "for Conn, b in fast():\n    break\n",
                "(Conn := fast())\n",
                "if (Conn := fast()) is not None:\n    pass\n",
                "try:\n    from fast import Conn\nexcept ImportError:\n    pass\n",
            )
        ),
        # what an object holds
        *(
            ("f.py", HELD, BELOW_IT, BELOW_IT + line)
            for line in (
                'D["LINE"] = 3\n',
                'D["LINE"]: int = 3\n',
                'D["LINE"] = D["a"]\n',
                'del D["LINE"]\n',
                'D.pop("LINE", None)\n',
                "D.update(LINE=3)\n",
                'D.update({"LINE": 3})\n',
                'D |= {\n    "b": 1,\n    "LINE": 3,\n}\n',
                'D = D | {"LINE": 3}\n',
                'D = {**D, "LINE": 3}\n',
                "D = dict(D, LINE=3)\n",
                "D.clear()\n",
                'E = D\nE["LINE"] = 3\n',
            )
        ),
        ("f.py", HELD, "dict(D)", "dict(D, LINE=3)"),
        ("f.py", HELD, "c = dict(D)", 'c = {**D, "LINE": 3}'),
        ("f.py", HELD, "return c", 'return c | run({**D, "LINE": 3})'),
        ("f.py", HELD, "    c.update", '    c["LINE"] = 3\n    c.update'),
        ("f.py", INNER, BELOW_IT, BELOW_IT + 'D["a"]["LINE"] = 3\n'),
        ("f.py", INNER, BELOW_IT, BELOW_IT + 'D["a"] = {}\n'),
        ("f.py", ITEM, BELOW_IT, BELOW_IT + 'D["LINE"] = 3\n'),
        ("f.py", ITEM, BELOW_IT, BELOW_IT + "D.update(LINE=3)\n"),
        ("f.py", ELEMENT, BELOW_IT, BELOW_IT + 'D.remove("LINE")\n'),
        (
            "f.py",
            ELEMENT.replace("[", "{").replace("]", "}"),
            BELOW_IT,
            BELOW_IT + 'D -= {"LINE"}\nD.discard("b")\n',
        ),
        ("f.py", CALL, BELOW_IT, BELOW_IT + "D.LINE = 3\n"),
        ("f.py", CALL, BELOW_IT, BELOW_IT + "D = replace(D, LINE=3)\n"),
        ("f.py", CALL, BELOW_IT, BELOW_IT + "delattr(D, 'LINE')\n"),
        ("f.py", INSIDE, "    return", '    d["LINE"] = 3\n    return'),
        ("f.py", OWN, "    return", "    c.LINE = 3\n    return"),
        # C: a macro takes the name, or another function does
        ("f.c", C, f"{HEAD}{{", f"{HEAD}{{\n\treturn fast(c);\n}}\n\nint\nconn_open_old(c)\n{{"),
        ("f.c", C, "#define DEPTH", "#define LINE(c) ((void)0)\n#define DEPTH"),
        ("f.c", C, "void\nconn_close", "#define conn_open fast_open\n\nvoid\nconn_close"),
        ("f.h", MACRO, "int f", "#undef LINE\n#define LINE 16\nint f"),
        ("f.c", CALLS, "\nint\n", "\n#undef EAGAIN\n#define EAGAIN 0\nint\n"),
        ("f.c", CALLS, "\nint\n", "\n#define LINE(c) 0\nint\n"),
        ("f.c", CALLS, "\ta(c);\n", "\ta(c);\n#undef EAGAIN\n"),
        # build files and scripts
        *(
            ("f.sh", EXPORT, "make -j4", line)
            for line in (
                "LINE=9 make -j4",
                "one && LINE='9 a' B=1 make -j4",
                "env A=1 LINE=9 make -j4",
                "env -i -u LINE make -j4",
                "exec env --unset=LINE make -j4",
                "LINE=9 \\\n    make -j4",
                "make LINE=9 -j4",
                "export -n LINE\nmake -j4",
                "one\ntwo\nunset A LINE\nmake -j4",
                "if LINE=9 make; then one; fi\nmake -j4",
            )
        ),
        ("f.sh", EXPORT, "\tmake x", "\tLINE=9 make x"),
        (
            "f.sh",
            "go() {\n\tif x; then\n\t\texport LINE=2\n\t\tmake\n\tfi\n}\n",
            "\t\tmake",
            "\t\tenv -u LINE make",
        ),
        ("Dockerfile", DOCKER, "RUN one", "ENV LINE=9\nRUN one"),
        ("Dockerfile", DOCKER, "RUN one", "ENV LINE 9\nRUN one"),
        ("Dockerfile", f"{ARG}RUN two \\", "RUN one", "ENV LINE=9\nRUN one"),
        ("c.yaml", "a: 1\nLINE: 2\nb: 3\n", "b: 3\n", "b: 3\nLINE: 9\n"),
        ("x.Dockerfile", DOCKER, "RUN pip", "RUN one && LINE=9 pip"),
        ("Dockerfile", DOCKER, "RUN pip", "RUN --mount=type=a \\\n    LINE=9 pip"),
        ("f.sh", "b() {\n\texport LINE=2\n\tx\n}\n", "\tx\n", "\tx\n\tlocal LINE=3\n\ty\n"),
        (
            "CMakeLists.txt",
            "add_library(k a.c)\nset_target_properties(k PROPERTIES LINE 1)\n",
            "LINE 1)\n",
            "LINE 1)\ninstall(k)\nset_property(TARGET k PROPERTY LINE 2)\n",
        ),
        ("Makefile", MAKING, "all:", "undefine LINE\nall:"),
        ("Makefile", MAKING, "all:", "override LINE = 9\nall:"),
        ("Makefile", MAKING, "all: lib", "all: LINE = 9\nall: lib"),
        ("Makefile", MAKING, "$(MAKE) -C", "$(MAKE) LINE=9 -C"),
        ("Makefile", MAKING, "\tcc", "\t@LINE=9 cc"),
        ("f.sh", SHELL, "\nbuild\n", "\nbuild() {\n\tninja\n}\n\nbuild\n"),
        ("f.sh", SHELL, "\nbuild\n", "\nfunction build\n{\n\tninja\n}\n\nbuild\n"),
        ("f.sh", BELOW, "\nbuild\n", "\nbuild() {\n\tninja\n}\n\nbuild\n"),
        ("f.sh", SHELL, "\nbuild\n", "\nunset -f build\nbuild\n"),
        ("f.sh", SHELL, "build() {\n", "build() {\n\tninja\n}\n\nold_build() {\n"),
        ("f.sh", SETTING, "b=3\n", 'b=3\nexport LINE="x y"\n'),
        ("f.sh", SETTING, "b=3\n", "b=3\nunset LINE\n"),
        ("f.cmake", CMAKE, "build(y)", "macro(BUILD x)\nendmacro()\nbuild(y)"),
        ("f.cmake", SET, "add_library", "set(LINE old.c)\nadd_library"),
        ("f.cmake", SET, "add_library", "unset(LINE)\nadd_library"),
        (
            "CMakeLists.txt",
            OPTIONS,
            "use(core)",
            'set_target_properties(core\n  PROPERTIES COMPILE_OPTIONS "")\nuse(core)',
        ),
        ("Makefile", MAKE, "lib:", "LINE := 3\nlib:"),
        ("Makefile", RULE, "\tranlib\n", "\tranlib\n\nlib:\n\tninja\n"),
        # keys
        ("f.yaml", YAML, "    - run: b\n", "    - run: b\n  build:\n    steps: []\n"),
        ("f.yaml", FLOW, "run: make", "run: LINE=9 make"),
        ("f.yaml", FLOW, "        pip", "        env -u LINE pip"),
        ("f.json", JSON, '    "y": 3\n', '    "y": 3,\n    "LINE": 4\n'),
        ("f.json", JSON, '  "b": [', '  "a": {},\n  "b": ['),
        ("f.ini", TOML, "[b]", "[c]\n[a]\nLINE = 3\n[b]"),
        # what is left of the value
        (
            "f.cmake",
            SET,
            "add_library",
            'string(REGEX REPLACE "b.c" "" LINE "${LINE}")\nadd_library',
        ),
        ("f.cmake", SET, "add_library", "string(REPLACE b a LINE ${LINE})\nadd_library"),
        ("Makefile", MAKE, "lib:", "LINE := $(filter-out 2,$(LINE))\nlib:"),
        ("Makefile", MAKE.replace("E =", "E +="), "lib:", "LINE := 3\nlib:"),
        ("Dockerfile", ARG, "RUN one", "ENV LINE=9\nRUN one"),
        ("Dockerfile", ARG, "RUN one", "ARG LINE=9\nRUN one"),
    ],
)
def test_another_line_took_the_name(path: str, then: str, old: str, new: str) -> None:
    assert old in then
    assert done_about(path, then, then.replace(old, new))


@pytest.mark.parametrize(
    ("path", "then", "old", "new"),
    [
        # built on, in another scope, or an alternative to it
        ("f.py", PYTHON, "\n\ndef total", "\n\nConn.open = traced(Conn.open)\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nclass Conn(Conn):\n    x = 1\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", f"\n\nclass Fast(Conn):\n{NEW_OPEN}\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\nif os.x:\n    Conn = Fast\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\ndef patch():\n    Conn.open = x\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\ndef other():\n    Conn = 1\n\n\ndef total"),
        ("f.py", PYTHON, "\n\ndef total", "\n\ndef open(x):\n    pass\n\n\ndef total"),
        (
            "f.py",
            PYTHON,
            "    def close",
            "    @open.setter\n    def open(self):\n        pass\n\n    def close",
        ),
        (
            "f.py",
            PYTHON,
            "    def close",
            "    @open.register(int)\n    def _(self):\n        x()\n\n    def close",
        ),
        *(
            ("f.py", PYTHON, "\n\ndef total", f"\n\n{lines}\n\ndef total")
            for lines in (
                'globals()["Link"] = Fast\n',
                'setattr(other, "Conn", Fast)\n',
                "def other():\n    with fast() as Conn:\n        pass\n",
                "for each in Conn, b:\n    break\n",
                "try:\n    import fast\nexcept ImportError:\n    Conn = None\n",
                "try:\n    from fast import Conn\nexcept KeyError:\n    pass\n",
            )
        ),
        (
            "f.py",
            "for LINE in a:\n    f(LINE)\nx = 1\ny = 2\nz = 3\nu = 4\n",
            "u = 4\n",
            "u = 4\nfor LINE in b:\n    g(LINE)\n",
        ),
        ("f.py", PYTHON, "    def open", "    @overload\n    def open(self): ...\n\n    def open"),
        ("f.py", PYTHON, "class Conn", "class Conn: ...\n\n\nclass Conn"),
        ("f.py", PYTHON, "class Conn:", "class Conn:\n    x = 1\n"),
        (
            "f.py",
            PYTHON,
            "(self, host):",
            "(\n        self,\n        host,\n    ):\n        # how\n",
        ),
        ("f.py", PYTHON, "class Conn:", "class Link:"),
        ("f.py", VALUE, "sum(conns)\n", "sum(conns)\n\n\nLINE = max(LINE, 10)\n"),
        ("f.py", VALUE, "\n\ndef total", "LINE += 10\n\n\ndef total"),
        ("f.py", VALUE, "\n\ndef total", "LINE: int\n\n\ndef total"),
        ("f.py", VALUE, "    return", "    LINE = 5\n    return"),
        (
            "f.py",
            VALUE,
            "\n\ndef total",
            "try:\n    import x\nexcept A:\n    LINE = 1\n\n\ndef total",
        ),
        ("f.py", IMPORTS, "    Other,\n)\n", ")\nfrom c import Other\n"),
        # another key, another scope, built on, on a condition, another object
        *(
            ("f.py", HELD, BELOW_IT, BELOW_IT + line)
            for line in (
                'D["LINES"] = 3\n',
                'D["z"]["LINE"] = 3\n',
                'D["LINE"] = max(D["LINE"], 3)\n',
                'D["LINE"] = D.get("LINE") or 3\n',
                'D["LINE"] += 3\n',
                'D.setdefault("LINE", 3)\n',
                'x = D.pop("LINE")\n',
                "D.update(b=3)\n",
                'if S:\n    D["LINE"] = 3\n',
                'def setup():\n    D["LINE"] = 3\n',
                'E["LINE"] = 3\nE.update(LINE=3)\nE.clear()\n',
                'E = {"LINE": 3, **D}\n',
                "E = dict(D, b=3)\n",
            )
        ),
        ("f.py", HELD, "    c.update", '    if kw:\n        c["LINE"] = 3\n    c.update'),
        ("f.py", HELD, "dict(D)", "dict(E, LINE=3)"),
        ("f.py", HELD, "c = dict(D)", 'c = {"LINE": 3, **D}'),
        (
            "f.py",
            ELEMENT,
            BELOW_IT,
            BELOW_IT + 'D.remove("a")\nD.append("LINE")\nE.remove("LINE")\n',
        ),
        ("f.py", INSIDE, "    return", '    if c:\n        d["LINE"] = 3\n    return'),
        ("f.py", INSIDE, "def f", 'def other(d):\n    d["LINE"] = 3\n\n\ndef f'),
        ("f.py", OWN, "    return c\n", "    return c\n\n\ndef other(c):\n    c.LINE = 3\n"),
        ("f.c", C, "conn_open", "conn_begin"),
        ("f.c", CALLS, "\nint\n", "\n#ifndef EAGAIN\n#define EAGAIN 0\n#endif\nint\n"),
        ("f.c", CALLS, "\nint\n", "\n#ifdef OLD\n#define EAGAIN 0\n#endif\nint\n"),
        ("f.c", CALLS, "\treturn 0;\n}\n", "\treturn 0;\n}\n#undef EAGAIN\n"),
        ("f.c", CALLS, "\nint\n", '\n#define NAME "EAGAIN"\n#define AGAIN 0\nint\n'),
        ("f.c", C, "void\nconn_close", "#define conn_reopen fast_open\n\nvoid\nconn_close"),
        ("f.cpp", CPP, "int Pool", "int Pool::take(char n)\n{\n\treturn n;\n}\n\nint Pool"),
        (
            "f.cpp",
            CPP,
            "return n;\n}\n",
            "return n;\n}\n\nint Pool::take(char n)\n{\n\treturn n;\n}\n",
        ),
        ("f.h", MACRO, "int f", "#ifdef SMALL\n#undef LINE\n#define LINE 16\n#endif\nint f"),
        (
            "f.h",
            MACRO,
            "int f",
            "#ifdef SMALL\n#ifdef X\n#endif\n#define LINE 16\n#endif\nint f",
        ),
        ("f.sh", SHELL, "\nbuild\n", "\nif old; then\nbuild() {\n\tninja\n}\nfi\nbuild\n"),
        ("f.sh", SHELL, "build", "compile"),
        ("f.sh", SETTING, "b=3\n", 'b=3\nLINE="$LINE 4"\n'),
        ("f.sh", SETTING, "b=3\n", "b=3\nLINE=4 other\n"),
        ("f.sh", SETTING, "b=3\n", "b=3\nif old; then\n\tLINE=4\nfi\n"),
        *(
            ("f.sh", EXPORT, "make -j4", line)
            for line in (
                'LINE="$LINE 9" make -j4',
                "A=9 make -j4",
                "env -u A make -j4",
                "echo LINE=9 make\nmake -j4",
                "# LINE=9 make\nmake -j4",
                "if old; then\n\tLINE=9 make\nfi\nmake -j4",
                "LINE=9 ninja\nmake -j4",
            )
        ),
        ("f.sh", EXPORT, "a=1", "a=1\nLINE=9 make"),
        ("Dockerfile", DOCKER, "RUN two", "ENV LINE=9\nRUN LINE=9 pip"),
        ("Dockerfile", DOCKER, "RUN one", "ENV LINE=$LINE:9\nRUN one\nRUN LINE=9 three"),
        ("Dockerfile", DOCKER, "RUN one", "ENV C=4 D=5\nRUN one\nRUN A=9 pip"),
        (
            "CMakeLists.txt",
            "add_library(k a.c)\nset_target_properties(k PROPERTIES LINE 1)\n",
            "LINE 1)\n",
            "LINE 1)\ninstall(k)\nset_property(TARGET k APPEND PROPERTY LINE 2)\n",
        ),
        ("Makefile", MAKING, "all: lib", "check: LINE = 9\nall: lib"),
        ("Makefile", MAKING, "all: lib", "all: LINE += 9\nall: LINE ?= 8\nall: lib"),
        ("Makefile", MAKING, "$(MAKE) -C", "$(MAKE) A=9 -C"),
        ("f.cmake", LOCAL, "use()", "set(LINE old.c)\nuse()"),
        ("f.cmake", SET, "add_library", "set(LINE ${LINE} c.c)\nadd_library"),
        ("f.cmake", SET, "add_library", "list(APPEND LINE c.c)\nadd_library"),
        (
            "f.cmake",
            SET,
            "add_library",
            'string(REPLACE "b" "" MORE "${LINE}")\nstring(STRIP "${LINE}" LINE)\nadd_library',
        ),
        ("Makefile", MAKE, "lib:", "B := $(filter-out 2,$(LINE))\nlib:"),
        ("Makefile", MAKE.replace("E =", "E +="), "lib:", "LINE += 3\nlib:"),
        ("Dockerfile", ARG, "RUN one", "ENV B=9\nRUN one"),
        ("Dockerfile", ARG, "RUN one", "ENV LINE=$LINE:9\nRUN one"),
        ("f.cmake", SET, "add_library", "if(OLD)\nset(LINE c.c)\nendif()\nadd_library"),
        ("f.cmake", SET, "add_library", "set(LINE c.c CACHE STRING x)\nadd_library"),
        ("f.cmake", SET, "add_library", "function(f)\nset(LINE c.c)\nendfunction()\nadd_library"),
        (
            "CMakeLists.txt",
            OPTIONS,
            "use(core)",
            'set_target_properties(core PROPERTIES COMPILE_FLAGS "")\nuse(core)',
        ),
        ("Makefile", MAKE, "lib:", "LINE += 3\nLINE ?= 4\nLINE := x $(LINE)\nlib:"),
        ("Makefile", RULE, "\tranlib\n", "\tranlib\n\nlib: more.o\n"),
        ("Makefile", RULE, "lib", "archive"),
        ("f.yaml", YAML, "    - run: b\n", "    - run: b\n  test:\n    steps:\n    - run: LINE\n"),
        ("f.yaml", YAML, "    - run: b\n", "    - run: b\n---\njobs:\n  build: x\n"),
        ("f.yaml", FLOW, "run: make", "run: LINE=9 ninja\n    - run: make"),
        ("f.yaml", FLOW, "run: make", "run: A=9 make"),
        ("f.yaml", FLOW, "run: make", "name: LINE=9 make\n      run: make"),
        ("f.json", JSON, '  "b": [', '  "c": {\n    "LINE": 4\n  },\n  "b": ['),
        ("f.toml", TOML, "[b]", "[c]\nLINE = 3\n[[d]]\nLINE = 1\n[[d]]\nLINE = 2\n[b]"),
        ("f.toml", ENTRY, "\n[e]", "\n[[d]]\nLINE = 3\n[d.x]\ny = 2\n[e]"),
        ("f.toml", ENTRY.replace("y", "LINE"), "\n[e]", "\n[[d]]\n[d.x]\nLINE = 3\n[e]"),
    ],
)
def test_the_name_is_kept(path: str, then: str, old: str, new: str) -> None:
    assert old in then
    assert not done_about(path, then, then.replace(old, new))
