"""The one form of a syntax tree that CodeBLEU compares, whatever parser made it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

MAX_DEPTH = 400
"""Deeper trees are not compared: no program that a person wrote is, and Python's own stack ends at 1,000."""
MAX_NODES = 200_000

STRINGS = frozenset({"string", "string_literal", "character_literal"})
"""Nodes that are one token for the data flow, although they have parts for the syntax."""


class Node:
    """A node, named as tree-sitter's grammar for the language names it.

    Comments are left out. `named` tells rules of the grammar from the literal tokens between them.
    """

    __slots__ = ("children", "field", "kind", "named", "text")

    def __init__(
        self, kind: str, children: list[Node], *, text: str = "", named: bool = True, field: str | None = None
    ) -> None:
        self.kind = kind
        self.children = children
        self.text = text
        """The source of a leaf and of a string; empty otherwise."""
        self.named = named
        self.field = field

    @property
    def is_token(self) -> bool:
        """Whether the data flow sees it as one token."""
        return not self.children or self.kind in STRINGS

    def child(self, field: str) -> Node | None:
        """Return the first child that stands in a field of the grammar."""
        return next((child for child in self.children if child.field == field), None)


def subtrees(root: Node) -> Counter[bytes]:
    """Return how often each sub-tree occurs, as a digest of its shape.

    A sub-tree is a node with children; its shape is the kinds and fields of the named nodes in it, so names,
    numbers and operators do not matter. Source: Ren et al. 2020, section 3.2.
    """
    counts: Counter[bytes] = Counter()
    shapes: dict[int, bytes] = {}
    for node in _bottom_up(root):
        if not node.children:
            shapes[id(node)] = b"." + node.kind.encode()
            continue
        parts = [node.kind.encode()]
        parts += [b"%s:%s" % ((one.field or "").encode(), shapes[id(one)]) for one in node.children if one.named]
        shape = hashlib.blake2b(b"\0".join(parts), digest_size=16).digest()
        shapes[id(node)] = shape
        counts[shape] += 1
    return counts


def _bottom_up(root: Node) -> Iterator[Node]:
    """Yield every node after its children, without recursion."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(node.children)
    return reversed(order)


def depth(root: Node) -> int:
    """Return the number of nodes on the longest way down."""
    deepest, level = 0, [root]
    while level:
        deepest += 1
        level = [child for node in level for child in node.children]
    return deepest
