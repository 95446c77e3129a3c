"""``python -m tests.client.life --seed N``: lives the life of a seed, and prints its steps."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile

from tests.client.life.plan import DAYS, plan
from tests.client.life.run import live


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.client.life", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from this one on")
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--trace", action="store_true", help="print every step")
    parser.add_argument("--power", action="store_true", help="let the power fail, too")
    options = parser.parse_args()
    logging.getLogger("deniable").propagate = False
    for seed in range(options.seed, options.seed + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            say = _say if options.trace else lambda *_: None
            world = live(folder, seed, plan(seed, options.days, power=options.power), say)
        _say(f"seed {seed}:", world.account.summary())


def _say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    main()
