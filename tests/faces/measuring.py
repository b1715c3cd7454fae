"""What a browser measures of a page that people read: text too small, cells cut, anything wider than the screen."""

from typing import Any

SMALLEST = 9  # pixels of a text
SCRIPT = """([least, within]) => {
  const found = [], shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest("[aria-hidden] title");
  const say = (e, what) => {
    const named = `${e.tagName.toLowerCase()}.${e.getAttribute("class") ?? ""}`;
    found.push(`${what}: ${named} ${JSON.stringify(e.textContent.trim().slice(0, 60))}`);
  };
  const root = document.querySelector(within);
  const width = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
  if (whole > width) found.push(`page: ${whole} of ${width}`);
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE", "title", "OPTION"].includes(e.tagName) || !shown(e)) continue;
    const turned = e instanceof SVGElement ? e.getScreenCTM() : { c: 0, d: 1 }, scale = Math.hypot(turned.c, turned.d);
    const size = parseFloat(getComputedStyle(e).fontSize) * scale;
    if (size < least) say(e, `text of ${size.toFixed(1)} px`);
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width && (box.right > width + 1 || box.left < -1)) { say(e, "off the screen"); break; }
  }
  for (const e of root.querySelectorAll("td, th, caption, .scroll, .heat, .strips, p, li, button")) {
    if (!shown(e)) continue;
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) say(e, `cut, ${e.scrollWidth} of ${e.clientWidth} px`);
  }
  return [...new Set(found)];
}"""


def faults(page: Any, within: str = "body") -> list[str]:
    """What is too small, cut or off the screen in a part of a page; nothing where all is right."""
    found: list[str] = page.evaluate(SCRIPT, [SMALLEST, within])
    return found


TORN = r"""within => {
  const found = [], range = document.createRange();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.parentElement.closest(within) || !node.parentElement.checkVisibility()) continue;
    for (const match of node.data.matchAll(/\[[−\d., %]+\]|[−\d][\d.,]* %/g)) {
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 1);
      const lines = new Set(boxes.map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(match[0]);
    }
  }
  return found;
}"""


def torn_numbers(page: Any, within: str) -> list[str]:
    """Intervals and shares that begin in a line and end in another."""
    found: list[str] = page.evaluate(TORN, within)
    return found
