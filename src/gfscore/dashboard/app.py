"""The script that ``gfscore dashboard`` hands to Streamlit, with its arguments."""

import sys

from gfscore.dashboard.page import show
from gfscore.dashboard.serving import arguments_of

show(*arguments_of(sys.argv[1:]))
