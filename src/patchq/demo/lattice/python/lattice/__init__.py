from lattice.server import Server
from lattice.version import __version__

__all__ = ["Server", "__version__"]
