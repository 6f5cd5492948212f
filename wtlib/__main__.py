"""Entry point of ``python -m wtlib``."""

import sys

from wtlib.cli import main

sys.exit(main())
