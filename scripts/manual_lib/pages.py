# SPDX-License-Identifier: GPL-2.0-only
"""A page as roff, by docutils' writer of manual pages: it is given a tree, so that no text has to be escaped."""

from docutils import core, frontend, nodes, utils
from docutils.writers import manpage

from .tables import Topic


def render(page):
    """PAGE in roff."""
    settings = frontend.get_default_settings(manpage.Writer())
    # The date of a build would make two builds of one source differ.
    settings.datestamp = settings.generator = None
    doc = utils.new_document(page.name, settings)
    doc["title"] = page.name
    doc += nodes.title("", page.name)
    doc += nodes.subtitle("", page.summary)
    info = nodes.docinfo()
    for name, value in (("Manual section", "1"), ("Manual group", "User Commands")):
        info += nodes.field("", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", value)))
    info += nodes.version("", f"fio-dataplane {page.version}")
    doc += info

    doc += _section("SYNOPSIS", [nodes.line_block("", *(nodes.line("", u) for u in page.usage))])
    doc += _section("DESCRIPTION", _text(page.description))
    if page.options:
        doc += _section("COMMANDS" if page.name == "dataplane" else "OPTIONS", _text(page.note) + _options(page.options))
    for title, text in page.sections:
        doc += _section(title, _text(text))
    out = core.publish_from_doctree(doc, writer_name="manpage", settings_overrides={"output_encoding": "unicode"})
    # A terminal without UTF-8 has no such character.
    out = out.replace("…", "...")
    return '.\\" SPDX-License-Identifier: GPL-2.0-only\n' + "".join(
        line for line in out.splitlines(True) if not line.startswith('.\\" Generated'))


def _section(title, parts):
    return nodes.section("", nodes.title("", title), *parts, ids=[title.lower().replace(" ", "-")])


def _options(options):
    out, listed = [], None
    for o in options:
        if isinstance(o, Topic):
            listed = None
            out.append(nodes.section("", nodes.title("", o.text), ids=[o.text]))
            continue
        if listed is None:
            listed = nodes.option_list()
            if out:
                out[-1] += listed
            else:
                out.append(listed)
        group = nodes.option_group()
        for name in o.names or [o.arg]:
            option = nodes.option("", nodes.option_string("", name))
            if o.names and o.arg:
                # Its writer drops plain blanks here.
                option += nodes.option_argument("", o.arg.replace(" ", "\u00a0"), delimiter="" if name.endswith("=") else " ")
            group += option
        first = o.help.split(" ", 1)[0]
        help_ = (o.help if "=" in first or first in o.choices else o.help[:1].upper() + o.help[1:]).rstrip(".") + "."
        listed += nodes.option_list_item("", group, nodes.description("", nodes.paragraph("", help_)))
    return out


def _text(text):
    """Paragraphs divided by empty lines; indented lines are kept as they are."""
    out, lines, kept = [], [], False

    def end():
        while lines and not lines[-1].strip():
            lines.pop()
        if lines:
            out.append(nodes.literal_block("", "\n".join(lines)) if kept else nodes.paragraph("", " ".join(lines)))
        lines.clear()

    for line in text.splitlines():
        indented = line[:1] in " \t" if line.strip() else kept
        if indented != kept or (not line.strip() and not kept):
            end()
        kept = indented
        if line.strip() or kept and lines:
            lines.append(line.removeprefix("\t").removeprefix("  "))
    end()
    return out
