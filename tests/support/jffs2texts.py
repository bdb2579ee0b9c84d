# SPDX-License-Identifier: GPL-2.0-or-later
"""What jffs2dump -c prints of a JFFS2 made by hand."""

from __future__ import annotations

from nandlab.flash.layouts import jffs2nodes
from support.jffs2made import Made


def text_of(of: Made) -> bytes:
    """A line for each node, and for space that is erased; padding is not told."""
    at, lines, empty = 0, [], -1
    while at < len(of.data):
        head = jffs2nodes.select_struct_byte_order(jffs2nodes.HEADER_STRUCT, of.order).unpack_from(
            of.data, at
        )
        if head[0] != jffs2nodes.MAGIC:
            empty = at if empty < 0 and head[0] == 0xFFFF else empty
            at += 4
            if head[0] == 0:
                lines.append(f"Wrong bitmask  at  0x{at - 4:08x}, 0x0000")
                at += -at % of.shape.page
            continue
        if empty >= 0:
            lines.append(f"Empty space found from 0x{empty:08x} to 0x{at:08x}")
            empty = -1
        lines += _line(of, at, head[1], head[2])
        at += head[2] + 3 & ~3
    return "".join(line + "\n" for line in lines).encode()


def _line(of: Made, at: int, kind: int, size: int) -> list[str]:
    place = f"node at 0x{at:08x}, totlen 0x{size:08x}"
    if kind == jffs2nodes.INODE:
        node = jffs2nodes.select_struct_byte_order(jffs2nodes.INODE_NODE, of.order).unpack_from(
            of.data, at
        )
        return [
            f"{'':8} Inode      {place}, #ino  {node[4]:5d}, version {node[5]:5d}, isize "
            f"{node[9]:8d}, csize {node[14]:8d}, dsize {node[15]:8d}, offset {node[13]:8d}"
        ]
    if kind == jffs2nodes.DIRENT:
        node = jffs2nodes.select_struct_byte_order(jffs2nodes.DIRENT_NODE, of.order).unpack_from(
            of.data, at
        )
        name = bytes(of.data[at + 40 : at + 40 + node[8]]).decode()
        return [
            f"{'':8} Dirent     {place}, #pino {node[4]:5d}, version {node[5]:5d}, #ino  "
            f"{node[6]:8d}, nsize {node[8]:8d}, name {name}"
        ]
    return []
