"""The script that ``gfscore dashboard`` hands to Streamlit, with its arguments."""

import sys

from gfscore.dashboard.page import show
from gfscore.dashboard.serving import arguments_of

if __name__ == "__main__":
    show(*arguments_of(sys.argv[1:]))
