"""The only room that talks to git: a hermetic process, objects, merging, history, remotes."""

import os


def _load_gitpython() -> None:
    """Import GitPython without the user's configuration and ``GIT_*`` variables.

    It runs git once when it is imported, and takes any failure (a broken ``~/.gitconfig``) for a
    missing git.
    """
    user = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    try:
        import git as _  # noqa: F401
    finally:
        del os.environ["GIT_CONFIG_GLOBAL"], os.environ["GIT_CONFIG_NOSYSTEM"]
        os.environ.update(user)


_load_gitpython()
