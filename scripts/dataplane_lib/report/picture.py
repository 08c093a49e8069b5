# SPDX-License-Identifier: GPL-2.0-only
"""What all pictures share: colours, sizes, words under the pointer, and the way from matplotlib into a page."""

import io
import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"

COLOURS = ("#1f5fa8", "#c4561c", "#2f8f57", "#8a4fa0", "#7a6a2c", "#b03050")
MARKS = ("o", "s", "^", "D", "v", "P")
INK, MUTED, GRID, _PAPER = "#1d1f21", "#5c6268", "#e2e4e6", "#ffffff"
# What page.css calls them, where it has one colour for light and one for dark.
_NAMES = {**{c: f"var(--s{i})" for i, c in enumerate(COLOURS)},
          INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", _PAPER: "none"}


# Inches across, and how many characters of the usual text fit into it: text that fills a phone's width can be read there, and a
# window shows two pictures beside each other. Nothing is drawn twice.
WIDTH, CHARS = 6.4, 64


@dataclass
class Picture:
    """One picture of a page: an SVG that takes its colours from the page and its size from the window."""
    caption: str
    svg: str


@dataclass
class Tips:
    """The words that belong to points and bars: {id: text of each point}."""
    texts: dict = field(default_factory=dict)

    def add(self, artist, texts):
        """TEXTS are those of ARTIST's points, in their order; a bar has one."""
        artist.set_gid(f"tip{len(self.texts)}")
        self.texts[artist.get_gid()] = list(texts)


def colour(i):
    return COLOURS[i % len(COLOURS)]


def mark(i):
    """No two of the first 36 series share both colour and mark."""
    return MARKS[(i + i // len(COLOURS)) % len(MARKS)]


def pyplot():
    """matplotlib's pyplot with our looks; loaded only when something is drawn."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "font.size": 11, "axes.titlesize": 11, "figure.titlesize": 12, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True, "legend.frameon": False,
        "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": MUTED, "xtick.color": MUTED, "ytick.color": MUTED,
        "xtick.labelcolor": INK, "ytick.labelcolor": INK, "figure.facecolor": _PAPER, "axes.facecolor": "none",
        # A value of a factor is no formula, whatever it holds.
        "text.parse_math": False, "figure.max_open_warning": 0})
    from matplotlib import pyplot as found
    return found


def shortened(text, chars):
    """TEXT in at most CHARS characters, its middle left out: names often differ at their end."""
    if len(text) <= chars:
        return text
    head = (chars - 1) // 2
    return f"{text[:head]}…{text[len(text) - (chars - 1 - head):]}"


def svg(figure, tips, salt):
    """FIGURE as the text of an SVG file, TIPS in it as titles; SALT keeps the ids of two pictures apart."""
    import matplotlib
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"fio-dataplane {salt}"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(out.getvalue())
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for group in root.iter(f"{{{_SVG}}}g"):
        texts = tips.texts.get(group.get("id"))
        if texts:
            _title(group, texts)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _title(group, texts):
    """Points are <use> elements in their order, a bar is a <path>."""
    points = list(group.iter(f"{{{_SVG}}}use")) or group.findall(f"{{{_SVG}}}path")
    for point, text in zip(points, texts):
        ElementTree.SubElement(point, f"{{{_SVG}}}title").text = text
        point.set("class", "tip")


def inline(text, label):
    """The SVG for a page: the page's colours and font, no id that nothing refers to, and no digit that nobody sees."""
    text = re.sub(r'\A.*?(?=<svg)', "", text, flags=re.S)
    text = re.sub(r'<style.*?</style>', "", text, count=1, flags=re.S)
    text = re.sub(r'#[0-9a-f]{6}', lambda m: _NAMES.get(m[0], m[0]), text)
    text = re.sub(r"font: (\d+(?:\.\d+)?)px [^;\"]*", r"font-size: \1px", text)
    text = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m[0]), text)
    text = re.sub(r">\s+<", "><", text)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", text)
    # Round joins are what the style that was taken out asked for.
    return re.sub(r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>", lambda m: (
        f'<svg xmlns="{_SVG}" xmlns:xlink="{_XLINK}" {m[1]} role="img" aria-label="{label}" stroke-linejoin="round">'), text, count=1)
