"""`python -m slicewise_cli`, the same as `slicewise`."""

from __future__ import annotations

import sys

from slicewise_cli.main import main

sys.exit(main())
