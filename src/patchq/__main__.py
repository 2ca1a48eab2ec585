"""Run patchq as ``python -m patchq``."""

from patchq.cli.main import main

if __name__ == "__main__":
    main()
