"""What every test shares: the folder in which built simulators are kept between test runs."""

import os
from pathlib import Path

os.environ.setdefault("RECSPEED_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))
