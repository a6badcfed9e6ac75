"""``python -m capture_sdk.lint``."""

import sys

from capture_sdk.lint.command import main

sys.exit(main())
