"""The languages that come with Markbook, one file each; what they have in common is one folder up."""
