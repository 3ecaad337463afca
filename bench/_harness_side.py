"""The harness's side of `bench.side_by_side`, run where lm_eval is installed: FOLDER PORT TURNS -> FOLDER/theirs.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI
from lm_eval.tasks import TaskManager

PREFIX = "¤"


class Chars(LocalCompletionsAPI):
    """Their client for completions, with a token a character, as the server has it."""

    def tok_encode(self, string, *_given, **_options):
        if isinstance(string, str):
            return [ord(sign) for sign in string]
        return [[ord(sign) for sign in each] for each in string]

    def decode_batch(self, tokens):
        return ["".join(map(chr, each)) for each in tokens]

    prefix_token_id = property(lambda _self: ord(PREFIX))
    eot_token_id = property(lambda _self: ord(PREFIX))
    eos_string = property(lambda _self: None)


def main() -> None:
    """Ask every task of the folder, each by itself."""
    folder, port, turns = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "turns"
    base = f"http://127.0.0.1:{port}/v1"
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    options = {
        "model": "m",
        "tokenizer_backend": None,
        "tokenized_requests": False,
        "num_concurrent": 8,
        "max_length": 100_000,
    }
    if turns:
        model = LocalChatCompletion(base_url=f"{base}/chat/completions", **options)
    else:
        model = Chars(base_url=f"{base}/completions", **options)
        model.tokenizer = True  # theirs only asks whether there is one
    found = {}
    for path in sorted(folder.glob("side_*.yaml")):
        kind = (folder / f"{path.stem}.kind").read_text()
        if turns and kind != "generate_until":
            continue
        try:
            done = simple_evaluate(
                model=model,
                tasks=[path.stem],
                task_manager=manager,
                bootstrap_iters=0,
                apply_chat_template=turns,
                fewshot_as_multiturn=turns,
                verbosity="ERROR",
                confirm_run_unsafe_code=True,
            )
            found[path.stem] = {"results": done["results"][path.stem]}
        except Exception as error:  # noqa: BLE001 - a task that theirs cannot do is counted
            found[path.stem] = {"error": f"{type(error).__name__}: {error}"[:300]}
        found[path.stem]["log"] = (folder / "log.jsonl").stat().st_size if (folder / "log.jsonl").exists() else 0
        (folder / "theirs.json").write_text(json.dumps(found, default=str))


main()
