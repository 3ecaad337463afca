"""What tasks and reviews read: rows, templates, filters, predictions, papers. All of it is hostile until parsed."""
