"""``python -m tfgen``: the same as ``tfgen``."""

from tfgen.cli import main

if __name__ == "__main__":
    main()
