"""`python -m pmdviz`: the same as the console script `pmdviz`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, where any file may bear the name of a module
    from pmdviz.cli.main import main

    sys.exit(main())
