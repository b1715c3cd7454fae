"""A leaderboard as one HTML file: no script, no other file, no other host; light and dark as the report is."""

from gfscore import views
from gfscore.outputs import leaderboard_text as words
from gfscore.outputs.escaping import as_html
from gfscore.outputs.report.html_parts import hash_source, read_asset
from gfscore.results import Leaderboard

COMMAND_LIMIT = 4000  # characters
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="gfscore">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src {policy}; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main>
<section class="verdict" aria-label="Who leads"><p class="headline">{headline}</p>{notes}</section>
<section aria-labelledby="h-models"><h2 id="h-models">Models</h2><div class="scroll" tabindex="0" role="region" \
aria-label="Models, the highest first">{table}</div>
<p>Strip: the ranks that the intervals of all models allow, from the 1st on the left; the dot is the estimate's.</p>
</section>
{unranked}
<section aria-labelledby="h-made"><h2 id="h-made">How it was made</h2>
<p>gfscore {version}, {created}{command}</p></section>
</main>
<footer><p>Every number is from audit files; this page computes none.</p></footer>
</body>
</html>
"""
UNRANKED = """\
<section aria-labelledby="h-unranked"><h2 id="h-unranked">Not ranked, which is not last</h2>{items}</section>"""


def leaderboard_page(board: Leaderboard) -> str:
    """The page: opens offline, prints, and names stand in it as text."""
    style, made = read_asset("report.css"), board.provenance
    return PAGE.format(
        policy=hash_source(style),
        style=style,
        title=as_html(words.title(board), 400),
        headline=as_html(words.headline(board), 400),
        notes="".join(f"<p>{as_html(note, 1000)}</p>" for note in words.notes(board)),
        table=words.board_table(board),
        unranked=UNRANKED.format(items=words.unranked_list(board)) if board.unranked else "",
        version=as_html(made.gfscore),
        created=as_html(made.created),
        command="" if made.command is None else f": {as_html(views.printable(made.command), COMMAND_LIMIT)}",
    )
