# SPDX-License-Identifier: GPL-2.0-only
"""Kernel modules of an unpacked kernel package.

Such a package has no modules.dep, which an installation would make: the order is worked
out from what each module says it depends on.
"""

import lzma
import re


def in_load_order(tree, wanted):
    """(file name, content) of modules WANTED and all they need, in the order to load them.

    TREE is lib/modules/VERSION. What is built into the kernel is left out.
    """
    builtin = {_name(line) for line in (tree / "modules.builtin").read_text().split()}
    files = {_name(path.name): path for path in tree.glob("kernel/**/*.ko*")}
    loaded = {}

    def load(name):
        if name in builtin or name in loaded:
            return
        content = _content(files[name])
        for needed in _depends(content):
            load(needed)
        loaded[name] = content

    for name in wanted:
        load(name)
    return [(f"{name}.ko", content) for name, content in loaded.items()]


def on_demand(tree, wanted):
    """Modules WANTED and all they need, as modprobe takes them.

    Returns [(file name, content)] and the text of a modules.dep for one directory.
    """
    files = in_load_order(tree, wanted)
    lines = []
    for name, _ in files:
        *needed, _ = in_load_order(tree, [_name(name)])
        lines.append(f"{name}: {' '.join(other for other, _ in reversed(needed))}\n")
    return files, "".join(lines)


def _name(path):
    """virtio_blk of kernel/drivers/block/virtio-blk.ko.xz; - and _ mean the same."""
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _content(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _depends(content):
    """The module's own words are name=value strings, each ended by a zero byte."""
    found = re.search(rb"\0depends=([\w,-]*)\0", content)
    return [_name(name) for name in found[1].decode().split(",") if name] if found else []
