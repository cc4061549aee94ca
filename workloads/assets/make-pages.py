"""Makes page-100k.html and page-20k.html beside this script.

The pages are lorem text in plain ASCII, of an exact size in bytes. They are drawn
from a fixed seed, so that running this again gives the same bytes.
"""

import random
from pathlib import Path

WORDS = """
ad aliqua aliquip amet anim aute cillum commodo consectetur consequat culpa
cupidatat deserunt do dolor dolore duis ea eiusmod elit enim esse est et eu ex
excepteur exercitation fugiat id in incididunt ipsum irure labore laboris laborum
lorem magna minim mollit nisi non nostrud nulla occaecat officia pariatur proident
qui quis reprehenderit sed sint sit sunt tempor ullamco ut velit veniam voluptate
""".split()
LINE_WIDTH = 100
INDENT = " " * 8

HEAD = """\
<!DOCTYPE html>
<html lang="la">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Lorem ipsum, {size} bytes</title>
</head>
<body>
  <main>
    <h1>Lorem ipsum dolor sit amet</h1>
"""
SECTION = '    <section id="part-{number}">\n      <h2>{title}</h2>\n'
SECTION_END = "    </section>\n"
PARAGRAPH = "      <p>\n{text}      </p>\n"
TAIL = "  </main>\n</body>\n</html>\n"


class Lorem:
    """A seeded source of words. Uses only `Random.random`, which every Python keeps stable."""

    def __init__(self, seed):
        self._random = random.Random(seed).random

    def between(self, low, high):
        return low + int(self._random() * (high - low + 1))

    def word(self):
        return WORDS[self.between(0, len(WORDS) - 1)]

    def line(self):
        line = INDENT + self.word()
        while len(line) + len(word := self.word()) < LINE_WIDTH:
            line += " " + word
        return line + "\n"

    def paragraph(self):
        lines = (self.line() for _ in range(self.between(4, 7)))
        return PARAGRAPH.format(text="".join(lines))

    def section(self, number):
        title = f"{self.word()} {self.word()} {self.word()}".capitalize()
        paragraphs = (self.paragraph() for _ in range(self.between(3, 5)))
        return (
            SECTION.format(number=number, title=title)
            + "".join(paragraphs)
            + SECTION_END
        )

    def filler(self, length):
        """A last section of exactly `length` bytes."""
        opening = SECTION.format(number="last", title="Finis")
        room = length - len(opening) - len(PARAGRAPH.format(text="")) - len(SECTION_END)
        text = ""
        while room - len(text) > 2 * LINE_WIDTH:
            text += self.line()
        for share in (2, 1):
            text += self.line_of((room - len(text)) // share)
        return opening + PARAGRAPH.format(text=text) + SECTION_END

    def line_of(self, length):
        """A line of exactly `length` bytes, its line feed included."""
        line = INDENT
        while length - len(line) > 20:
            line += self.word() + " "
        missing = length - len(line) - 1
        first, second = next(
            (a, b) for a in WORDS for b in WORDS if len(a) + 1 + len(b) == missing
        )
        return f"{line}{first} {second}\n"


def page(size):
    lorem = Lorem(seed=size)
    text = HEAD.format(size=size)
    number = 1
    while size - len(text) > 4000:
        text += lorem.section(number)
        number += 1
    text += lorem.filler(size - len(text) - len(TAIL)) + TAIL
    assert len(text) == size
    return text


if __name__ == "__main__":
    folder = Path(__file__).parent
    for name, size in (("page-100k.html", 102_400), ("page-20k.html", 20_480)):
        (folder / name).write_bytes(page(size).encode("ascii"))
