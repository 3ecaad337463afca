"""Rewards in the shapes of TRL, verl and verifiers, without a GPU and without those packages.

    python examples/rewards/trainers.py [URL]

With the address of a running `markbook serve` the marking is done there, else in sandboxes of this machine.
"""

import asyncio
import sys

from markbook.rewards import TRLReward, VerifiersReward, VerlReward

RIGHT = "```python\ndef double(x):\n    return 2 * x\n```"
WRONG = "def double(x):\n    return x * x\n"
TESTS = ["assert double(2) == 4", "assert double(3) == 6"]


def main() -> None:
    """Call each adapter as its trainer does."""
    options = {"url": sys.argv[1]} if len(sys.argv) > 1 else {"workers": 1}

    with TRLReward(invalid="mask", **options) as reward:
        # what GRPOTrainer does with its reward_funcs; tests is a column of the data set
        print("TRL      ", reward(prompts=["Double x."] * 2, completions=[RIGHT, WRONG], tests=[TESTS, TESTS]))

    with VerlReward(**options) as compute_score:
        # what verl does with the function that custom_reward_function.path and .name say
        print("verl     ", compute_score("mine", RIGHT, {"tests": TESTS}, extra_info=None))
        print("  batch  ", compute_score.batch(["mine"] * 2, [RIGHT, WRONG], [TESTS, TESTS], [None, None]))

    with VerifiersReward(**options) as rubric:
        # what a Rubric does with its funcs
        chat = [{"role": "assistant", "content": RIGHT}]
        print("verifiers", asyncio.run(rubric.reward(prompt="Double x.", completion=chat, answer=TESTS, state={})))


if __name__ == "__main__":
    main()
