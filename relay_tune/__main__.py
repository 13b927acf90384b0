"""`python -m relay_tune` is the command `tune`."""

import sys

from relay_tune.cli.main import main

sys.exit(main())
