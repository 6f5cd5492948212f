"""One colour, one meaning, in every figure.

Each colour has a contrast of at least 3:1 against both a white and a near-black page (checked in
the tests), so that one drawing serves both.
"""

INK = "#010203"  # replaced by the page's own text colour when the figure is shown
TABLE = "#3b82d6"  # the lookup, the input route, "long"
HEAD = "#d9731a"  # the scores, the output route, "short"
BODY = "#868c96"  # everything between the two
TIED = "#2a9466"
UNTIED = "#9b6dd6"
PUBLISHED = "#d4504c"
SERIES = (TABLE, HEAD, TIED, UNTIED, PUBLISHED, BODY)
