"""Problems with tests, and answers to them. All of it is hostile until parsed."""
