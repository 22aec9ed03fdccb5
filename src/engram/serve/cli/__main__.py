"""`python -m engram.serve.cli` runs the `engram` command without its script."""

import sys

from engram.serve.cli import main

sys.exit(main())
