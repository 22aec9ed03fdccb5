"""`python -m engram.serve.cli`: the command without its script."""

import sys

from engram.serve.cli import main

sys.exit(main())
