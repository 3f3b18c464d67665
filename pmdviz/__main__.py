"""`python -m pmdviz`: the same as the console script `pmdviz`."""

import sys

from pmdviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
