#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What people read has none of the phrases that have to be read twice: docs, studies, and the texts of scripts/.

Of Python all strings but docstrings count, which is what may be printed. A line that needs such a word says so: 'words: ok'.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BANNED = {re.compile(pattern): instead for pattern, instead in {
    r"\b(is|are|be|was|were|been) told\b": "is shown, reported, known",
    r"\b(tells?|told) (of|apart)\b": "shows, separates",
    r"\bcannot (be told|tell)\b": "inconclusive",
    r"\bwants? (a|an|one|two|[0-9A-Z][^ ]*|numbers|true|--\w+)\b": "needs, expected, must be",
    r"(?<!there )\bis no (a |an )?(result|number|whole|factor|JSON|line|trace|source|measurement|study|program)\b": "not a …",
    r"\b(comes?|came) out\b": "results",
    r"\blies? beyond\b": "is above",
    r"\bmeans? (something|nothing) with\b": "needs, cannot be combined with",
    r"\bsame mood\b": "load and temperature",
    r"\bnothing is said of\b": "no verdict on",
    r"\bis given no value\b": "has no value",
}.items()}


def tracked(*patterns):
    """The files of the tree that match PATTERNS."""
    done = subprocess.run(["git", "-C", str(ROOT), "ls-files", "--", *patterns], capture_output=True, text=True, check=True)
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def prose(path):
    """(line, text) of a file of words. A sentence may go on in the next line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for n, (line, after) in enumerate(zip(lines, [*lines[1:], ""]), 1):
        # What programs print is looked at where they have it from.
        if path.suffix == ".md" and line.startswith("    "):
            continue
        yield n, line + " " + after.strip().partition(" ")[0]


def strings(path):
    """(line, text) of the strings of a Python file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            # What is filled in may be any word.
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def faults(path, texts):
    """A line for each banned phrase in TEXTS, [(line, text)] of PATH."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {f"{path.relative_to(ROOT)}:{n}: '{match[0]}': write {instead}" for n, text in texts for pattern, instead in BANNED.items()
            for match in [pattern.search(text)] if match and "words: ok" not in lines[n - 1]}


def main():
    # What must be found is found, and what may be written is not.
    assert any(p.search("it cannot be told from noise") for p in BANNED) and any(p.search("--pairs: wants an even number") for p in BANNED)
    assert not any(p.search("there is no result yet; nobody wants to wait; it told us") for p in BANNED)
    found = set()
    for path in tracked("README.md", "CHANGELOG.md", "docs/*.md", "jobfiles/*.toml", "jobfiles/*.fio"):
        found |= faults(path, prose(path))
    for path in tracked("scripts/*.py"):
        found |= faults(path, strings(path))
    print("\n".join(sorted(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
