"""Results that other tools left: each format is a reader behind the door `markbook.foreign`, found by content."""
