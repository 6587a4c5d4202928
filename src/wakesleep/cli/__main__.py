"""`python -m wakesleep.cli`."""

from wakesleep.cli.main import main

main()
