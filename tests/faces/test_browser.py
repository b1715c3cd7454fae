"""The browser tests themselves: do they notice what they are there to notice?"""

import pytest


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('lost')</script>", "console: lost"),
        ("<script>throw new Error('lost')</script>", "uncaught: lost"),
        ("<img src='http://192.0.2.1/x.png' alt=''>", "outside request: http://192.0.2.1/x.png"),
    ],
)
def test_what_goes_wrong_in_a_page_is_seen(page, body, complaint):
    page.route("http://192.0.2.1/*", lambda route: route.fulfill(body=""))  # seen, but it never leaves the machine
    page.set_content(body, wait_until="load")
    seen = [text for text in page.complaints if text == complaint]
    page.complaints.clear()
    assert seen == [complaint]


def test_a_quiet_page_is_quiet(page):
    page.goto("data:text/html,<title>t</title><img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    assert page.title() == "t"


def test_axe_finds_a_picture_without_words(page, accessibility):
    page.set_content("<html lang='en'><title>t</title><main><h1>t</h1><img src='data:,'></main></html>")
    assert [text.split(":")[0] for text in accessibility(page)] == ["image-alt"]
    assert accessibility(page, "h1") == []
