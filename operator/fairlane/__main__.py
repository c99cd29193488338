"""The processes of the image: `python -m fairlane operator`, `agent [--init]`, `load` and `model FOLDER`."""

import sys

USAGE = "usage: python -m fairlane operator | agent [--init] | load | model FOLDER"


def main(arguments: list[str]) -> int:
    """Run the named process; return its exit code. Imports are late: an agent needs no kopf."""
    match arguments:
        case ["operator"]:
            from .shell import operator

            return operator.main()
        case ["agent", *rest] if rest in ([], ["--init"]):
            from .router import main as agent

            return agent.run(rest)
        case ["load"]:
            from .load import main as load

            return load.run()
        case ["model", folder]:
            from . import modelread

            return modelread.run(folder)
        case _:
            sys.stderr.write(f"{USAGE}\nunknown arguments: {' '.join(arguments) or 'none'}\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
