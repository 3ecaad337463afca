"""`python -m markbook`."""

from markbook.cli import main

if __name__ == "__main__":
    main()
