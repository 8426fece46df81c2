"""``python -m tileverify``."""

import os
import sys

# Python looks for modules in the working folder first, where a submission may be called like one of the libraries; the
# program `tileverify` does not.  Only what Python itself loads before this line cannot be helped.
if not sys.flags.safe_path and sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(__file__)):
    del sys.path[0]

from .commands.program import main

if __name__ == "__main__":
    main()
