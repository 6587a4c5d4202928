"""`python -m wakesleep`: the command line."""

from wakesleep.cli import main

if __name__ == "__main__":
    main()
