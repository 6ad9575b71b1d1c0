"""`python -m coevolve.core` is the command line."""

import sys

from .cli import main

sys.exit(main())
