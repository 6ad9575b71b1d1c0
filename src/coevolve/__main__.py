"""`python -m coevolve` is the command line."""

import sys

from coevolve.core.cli.main import main

sys.exit(main())
