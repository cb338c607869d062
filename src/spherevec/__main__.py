"""`python -m spherevec` is the command line."""

import sys

from spherevec.cli import main

sys.exit(main())
