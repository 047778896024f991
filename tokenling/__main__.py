"""`python -m tokenling` is the `tokenling` command."""

from tokenling.cli import main

if __name__ == "__main__":
    main(prog_name="tokenling")
