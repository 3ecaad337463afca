"""Print constraints.txt from what is installed: names and versions, no addresses and no local builds."""

from importlib import metadata

HEADER = """\
# Exact versions that Markbook is tested with. Names and versions only.
# Made by `make constraints`, which prints what its environment holds.
"""


def main() -> None:
    print(HEADER, end="")
    versions = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"].lower().replace("_", "-")
        if name not in {"markbook", "pip", "setuptools", "wheel"}:
            versions[name] = distribution.version.partition("+")[0]  # `2.13.0+cpu` is one machine's build
    for name, version in sorted(versions.items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
