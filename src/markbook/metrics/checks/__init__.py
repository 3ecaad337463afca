"""Plain questions about a text: does it hold this, match that, is it JSON of this shape, a number near that one."""
