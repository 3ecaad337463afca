"""Code out of replies: without the reasoning, out of its fence, with the imports that it needs."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import html
import itertools
import json
import keyword
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal

from markbook.testcode import programs

# Where a reply's answer begins: behind what its model thought aloud, between `<think>` and `</think>`.

_SIGNS = re.compile(
    r"(?:^[ \t]{0,3}|(?<=</think>)[ \t]*)(?P<fence>`{3,}+|~{3,}+)(?P<info>(?:(?!</think>)[^\n])*+)"
    r"|(?:^|(?<=</think>))[ \t]*+(?P<begin><think>)"
    r"|(?<![^\s(\[{=,:+])(?P<quote>[\"'`])(?:(?!(?P=quote))[^\n]){0,200}</think>(?=[^\n]{0,200}(?P=quote))"
    r"|(?P<end></think>)",
    re.MULTILINE,
)
"""A line that opens or closes a block, a tag that begins a thought, one that is only quoted, and one that ends a thought."""


def without_thoughts(reply: str) -> str:
    """Return what a reply says behind its last thought, or before it if there is nothing.

    >>> without_thoughts("<think>two and two</think>4")
    '4'
    """
    return _list_answers(reply)[0]


def _list_answers(reply: str) -> list[str]:
    """Return what a reply says outside its thoughts, the last part first, and at least an empty one.

    A thought that does not end goes on to the end. Servers often begin the thought in the prompt, so what stands before a
    lone `</think>` is a thought too. A tag is none where it stands in quotes, or in a fenced block that is closed behind
    it: there it is part of a program.
    """
    if "think>" not in reply:
        return [reply]
    start = cut = 0
    parts = list[str]()
    is_thinking = False
    block = ""  # the fence that is open
    waiting = 0  # behind a tag in a block, of which it is not known yet whether it is closed
    for sign in _SIGNS.finditer(reply):
        if sign["fence"] and not is_thinking:
            is_closed = bool(block) and sign["fence"].startswith(block) and not sign["info"].strip()
            if waiting and not is_closed and sign["info"].strip():
                start, block, parts = waiting, "", []
            block, waiting = ("" if is_closed else block or sign["fence"]), 0 if is_closed else waiting
        elif sign["begin"] and not (is_thinking or block):
            is_thinking, cut = True, sign.start()
        elif sign["end"] or (sign["quote"] and is_thinking):
            if block:
                waiting = sign.end()
            else:
                parts = [*parts[-3:], reply[start:cut]] if is_thinking else []
                start, is_thinking = sign.end(), False
    parts.append(reply[start:cut] if is_thinking else reply[start:])
    return [part for part in reversed(parts) if part.strip()] or [""]


# Finding the code in a model's raw reply: a ladder of steps, each recorded, none of which deletes a line of code.
# A reply that compiles as it stands is taken as it stands. Otherwise what a model thought aloud is not part of it; of the
# rest a fenced block is taken, then the text between markers such as [PYTHON] and [/PYTHON], then code with prose before or
# behind it. Text with no trace of a reply around it (a truncated solution, say) is left alone: its SyntaxError is the
# model's own.

Step = Literal["as_is", "fence", "markers", "prose", "none"]

PARSE_CAP = 1 << 20
"""Longer texts, in characters, are not parsed here; the sandbox meets them as they are."""

_FENCE = re.compile(
    r"(?P<inset>[ \t>]*+(?:(?:[-*+\u2022]|\d{1,3}[.)])[ \t]++)*+)(?P<words>[^`~]*?)"
    r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<tag>[\w+#.-]*+)(?P<info>.*+)"
)
"""A line that opens or closes a block, or that has words before the fence."""
_PYTHON_TAG = re.compile(r"i?py(?:thon)?[\d.]*|pycon|", re.IGNORECASE)
_MARKER = re.compile(r"^[ \t]*\[/?[A-Za-z]{2,12}\][ \t]*$", re.MULTILINE)
_BARE_MARKER = re.compile(r"(?m)^(?:\[/?(?:END|DONE|BEGIN|PYTHON|CODE|ANSWER|SOLUTION)\]|\{code\}|#\+end_\w+)\s*$")
"""What alone on a line is Python, such as `[END]`, a list of one unknown name; in a reply it is where the code ends."""
_LAST_SIGNS = re.compile(r"(?<!\s)(?<!\|>)(?<!</s>)\s*+(?:(?:<\|\w{1,32}\|>|</s>)\s*+)++\Z")
"""What a model ends its reply with, where its server has left that in."""
_FRAME = re.compile(r"^[ \t]*(?:<\w+>|\*\*[^*\n]+\*\*:?|[-=]{3,}|>{7} REPLACE)[ \t]*$|</\w+>[ \t]*$", re.MULTILINE)
"""Tags, a line in bold and a rule, between which code may stand."""
_OTHER_FRAME = re.compile(
    r"\\(?:begin|end)\{\w+\*?\}(?:\[[^\]\n]{0,80}\]|\{[^}\n]{0,80}\}){0,4}|^#\+(?:begin|end|BEGIN|END)_[^\n]*"
    r"|\{code(?::\w+)?\}|\[/?code[^\]\n]{0,40}\]|</?(?:pre|source|syntaxhighlight)\b[^<>\n]{0,80}>|<!\[CDATA\[|\]\]>"
    r"|^(?:`{1,2}|'{3}|\"{3})\w*[ \t]*$|^[A-Z][\w ]{0,40}:(?:[ \t]*$|[ \t]+(?=(?:async def|def|class|import|from) ))",
    re.MULTILINE,
)
"""What LaTeX, Org, Jira, bulletin boards and wikis put around code, quotes on lines of their own, and what introduces it."""
_SHELL = re.compile(r"^[ \t]*+(>>>|In \[\d+\]:|\.{3}:?)(?: (.*))?$", re.MULTILINE)
"""A line that was typed into Python's or IPython's shell, or goes on with one."""
_NUMBERED = re.compile(r"^[ \t]*+(\d{1,4})(?:[ \t]?[|:])?(?:[ \t](.*))?$", re.MULTILINE)
_INLINE = re.compile(
    r"(?<![`\\])(?:`{3}(?:(?:python|py)[ \t])?(?P<line>[^`\n]+)`{3}|(?P<sign>`{1,2})(?P<code>[^`]+)(?P=sign))(?!`)"
    r"|\\verb(?P<bar>[|!+])(?P<verb>[^\n]*?)(?P=bar)"
)
"""Code within a sentence."""
_HERE = re.compile(r"<<-?[ \t]*+['\"]?(\w{1,80}+)['\"]?[^\n]{0,200}+\n")
"""Where a shell's command begins to read lines, up to the one that holds this word alone."""
_BLANKS = {0xA0: " ", 0x202F: " ", 0x200B: None, 0x2060: None, 0xFEFF: None}
"""Spaces that are none to Python, as web pages make them of those in code."""
_TOKEN = re.compile(r"<\|\w{1,32}\|>|</?s>|<(?:bos|eos|end_of_turn)>|\[/?INST\]")
"""What a model begins and ends its turns with; behind an end some go on with a turn of somebody else's."""
_TAG = re.compile(r"^[ \t]*<[ \t]?[A-Za-z][\w-]*(?:[ =][^<>\n]{0,80})?>|</[ \t]?[A-Za-z][\w-]*>[ \t]*$", re.MULTILINE)
_DRAFT = re.compile(
    r"\A(?:\s*(?:<(analysis|draft|reasoning|reflection|scratchpad|seed:think|think(?:ing)?|thought)>.*?</\1>"
    r"|\[(THINK|INST)\].*?\[/\2\]|\u25c1think\u25b7.*?\u25c1/think\u25b7|<\|begin_of_thought\|>.*?<\|end_of_thought\|>"
    r"|<\|START_THINKING\|>.*?<\|END_THINKING\|>|analysis.*?assistantfinal"
    r"|(?:<\|start\|>assistant)?<\|channel\|>.*?<\|channel\|>final<\|message\|>"
    r"|<\|(im_start|start_header_id)\|>(?:system|user)\b.*?<\|\3\|>assistant(?:<\|end_header_id\|>)?))+",
    re.DOTALL | re.IGNORECASE,
)
"""What a model thought, or what it was asked, before its answer."""
_LEFT_OVER = re.compile(r"\A(?:\s*+(?:python3?|py)[ \t\r]*+\n)++", re.IGNORECASE)
"""The word of a fence that is gone: as the first line of a program it would be an unknown name."""
_BRACKET = re.compile(r"^[ \t]*+[\[{](?=\s*+[\[{\"])", re.MULTILINE)
"""Where JSON begins."""
_FINAL = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t#*_]*+(?:here(?:['\u2019]s| is) )?(?:the |my )?(?:answer|(?:(?:corrected|final|fixed)\b,?(?: and)? ?){1,3}"
    r"(?:python )?(?:(?:answer|code|function|implementation|program|script|solution|version)(?: of (?:the|my|your) \w++)?)?)"
    r"(?: is)?[ \t*_]*+:?[ \t*_]*+(?:\([^()\n]{1,80}\)[ \t]*+)?\n\s*+(?=```|~~~)"
    r"|^[ \t]*+<(?:answer|final(?:[_-]\w{1,20})?|solution)>\s*+(?=```|~~~|@\w|(?:async|class|def|from|import)\s)",
    re.MULTILINE | re.IGNORECASE,
)
"""A sentence, a title or a tag that says nothing but that the code behind it counts instead of what stands before."""
_CODE_START = re.compile(r"^(?:@\w|def |async def |class |import |from \w[\w.]* import )", re.MULTILINE)
_PROSE = re.compile(
    rf"^(?!\"{{3}}|'{{3}}|(?:{'|'.join(keyword.kwlist)}|exec|print)\b)(?:"
    r"(?:#{1,6} |[-*\u2022] |\d+[.)] )?[\"'(*_]*[A-Z][\w'\u2019-]*[,:]?(?: +[^\s=]+){2}|(?:\d+[.)] )?[A-Z]\w*[!,.]? +[a-z]\w*\b"
    r"|[-*\u2022] +[a-z]|\*\*\w|`(?!``)|[^\x00-\x7f][^\n(=]*$|[\w(][\w(),'-]*(?: [\w(][\w(),'-]*){2,}$"
    r"|[^\s=#][^\n=]*+(?:(?<=[.!?])|(?<=\w:)|(?<=[.!?]\r)|(?<=\w:\r))$)",
    re.MULTILINE,
)
"""A line of a sentence or a list, which is neither Python nor a mistake in it."""


def extract(reply: str, is_code: Callable[[str], bool], entry_point: str = "") -> tuple[str, Step]:
    """Return the code in a reply, and how it was found.

    That is `as_is`, or the step that found code, or `none`: nothing did, and the text is the whole reply. `is_code`
    is `compiles`, or another notion of it (a body behind a prompt); among several blocks the one that defines
    `entry_point` is taken.
    """
    is_all_code = len(reply) > PARSE_CAP or is_code(reply)
    if is_all_code and not _BARE_MARKER.search(reply) and not _LEFT_OVER.match(reply):
        return next(_list_data(reply, entry_point), (reply, "as_is"))
    answers = [reply] if is_all_code else [_LAST_SIGNS.sub("", part) for part in _list_answers(reply)]
    if answers != [reply]:
        readings = [extract(answer, is_code, entry_point) for answer in answers]
        bodies = [text for text, _ in readings if defines(text, entry_point) or text.lstrip("\r\n")[:1] in (" ", "\t")]
        return max(readings, key=lambda reading: (reading[1] != "none", reading[0] in bodies))
    final: list[tuple[Step, str]] = []
    if entry_point and not is_all_code:
        answer = _DRAFT.sub("", reply)
        if answer != reply and defines((reading := extract(answer, is_code, entry_point))[0], entry_point):
            return reading
        for part in reversed(_FINAL.split(reply)[1:]):
            blocks = [block for nested in (False, True) for block in islice(_list_blocks(part, nested=nested), 1)]
            final += [("fence", _LEFT_OVER.sub("", code)) for tag, code in blocks if _PYTHON_TAG.fullmatch(tag)]
            final.append(("markers", _TAG.split(part, maxsplit=1)[0]))
        final = [(step, text) for step, text in final if _is_definition(text, entry_point)]
    others: dict[str, tuple[str, Step]] = {"used": (reply, "as_is")} if is_all_code else {}
    for step, text in itertools.chain(final, _candidates(reply)):
        if not text.strip() or not is_code(text) or (step == "prose" and _BARE_MARKER.search(text)):
            continue
        if entry_point and not defines(text, entry_point):
            others.setdefault("used", (text, step))
        elif step == "fence" and is_begun(text, entry_point):
            others.setdefault("begun", (text, step))
        elif step == "fence" and entry_point and not _is_definition(text, entry_point):
            others.setdefault("bound", (text, step))
        else:
            return (_with_missing(text, reply) if step == "fence" else text), step
    resorts = itertools.chain(_list_last_resorts(reply, entry_point), list_beginnings(reply, is_code, entry_point))
    return others[min(others, key=("bound", "begun", "used").index)] if others else next(resorts, (reply, "none"))


def compiles(text: str) -> bool:
    """Whether the text is a Python module by its syntax; it is only parsed, never compiled or run."""
    return _names(text) is not None


@functools.lru_cache(maxsize=1024)
def may_go_on(text: str, name: str) -> bool:
    """Whether some text behind this one, which begins to define a name, could make it a Python module."""
    head = text[: text.rfind("\n") + 1]  # a line that is only begun, such as `return x +`, says little
    return programs.ends_early(text) or (name in head and programs.ends_early(head))


def defines(text: str, name: str) -> bool:
    """Whether a module binds a name at its top level; False if it does not parse."""
    # beyond ASCII a name can be spelled in more ways than one
    names = None if text.isascii() and name not in text else _names(text)
    return names is not None and name in names


_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_BINDING = ast.stmt | ast.alias | ast.ExceptHandler | ast.match_case | ast.withitem
"""What may bind names in the scope that it stands in, beside targets."""


def top_level_names(tree: ast.Module) -> set[str]:
    """Return the functions, classes, assigned and imported names of a module's top level, also behind a condition."""
    names = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DEFINITION):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif not isinstance(node, ast.AnnAssign) or node.value is not None:  # `x: int` alone binds nothing
            for part in ast.iter_child_nodes(node):
                is_target = isinstance(getattr(part, "ctx", None), ast.Store)
                if isinstance(part, _BINDING) or (is_target and not isinstance(part, ast.Attribute | ast.Subscript)):
                    waiting.append(part)
    return names


@functools.lru_cache(maxsize=8)  # an answer is asked for three times over before it is known what it is
def _names(text: str) -> frozenset[str] | None:
    """Return the names of a module's top level, None if it does not parse."""
    tree = None if len(text) > PARSE_CAP else programs.parse(text)
    return None if tree is None else frozenset(top_level_names(tree))


def _list_blocks(reply: str, *, nested: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the tag and the lines of each fenced block; of one that is inset, as in a list, without as many spaces.

    `nested`: a fence with a tag opens a block in the block, and one at the end of a line closes.
    """
    if "```" not in reply and "~~~" not in reply:
        return
    opener, lines, depth, is_code = None, list[str](), 0, False
    for line in reply.split("\n"):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if opener is None:
            is_code = is_code or bool(_CODE_START.match(line))
            if fence is None or (fence["fence"][0] == "`" and "`" in fence["info"]):
                continue
            # code without a fence around it may have one further in or behind words, in a text of its own
            is_plain = not fence["words"] and len(fence["inset"]) < 4 and not fence["inset"].strip()
            is_python = fence["tag"] and _PYTHON_TAG.fullmatch(fence["tag"])
            if is_plain or (not is_code and (is_python or not fence["words"])):
                opener, lines, depth = fence, [], 0
            continue
        if fence is None or not fence["fence"].startswith(opener["fence"]):
            lines.append(line)
            continue
        depth += nested and bool(fence["tag"]) and not fence["words"]
        is_end = not (fence["tag"] or fence["info"].strip(" \t\r`~"))
        if is_end and not fence["words"] and not fence["inset"].strip(" \t>"):
            is_end = len(fence["inset"]) < 4 + len(opener["inset"])
        elif is_end and nested and not depth:
            lines.append(line[: fence.start("fence")])
        else:
            is_end = False
        if is_end and not depth:
            yield opener["tag"], _unindent(lines, opener["inset"])
            opener = None
            continue
        depth -= is_end
        lines.append(line)
    if opener is not None and lines:
        yield opener["tag"], _unindent(lines, opener["inset"], end="")


def _unindent(lines: list[str], inset: str, end: str = "\n") -> str:
    """Return lines without what stands before them as far as the first has it."""
    signs = " \t>" if ">" in inset else " \t"
    first = next((line for line in lines if line.strip(f"{signs}\r")), "")
    most = min(len(inset), len(first) - len(first.lstrip(signs)))
    cut = [line[min(most, len(line) - len(line.lstrip(signs))) :] for line in lines]
    return "\n".join(cut) + (end if cut else "")


def _list_python(reply: str) -> Iterator[str]:
    """Yield the fenced blocks that are Python by their tag."""
    for nested in (False, True):
        blocks = _list_blocks(reply, nested=nested)
        yield from (_LEFT_OVER.sub("", code) for tag, code in blocks if _PYTHON_TAG.fullmatch(tag))


def is_begun(text: str, entry_point: str) -> bool:
    """Whether a text only says what is to come: it imports, or what it defines under this name does nothing yet."""
    tree = programs.parse(text)
    if tree is None:
        return False
    if not entry_point:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    named = [node for node in tree.body if getattr(node, "name", "") == entry_point]
    parts = [part for node in named[-1:] for part in ast.walk(node) if part is not node and isinstance(part, ast.stmt)]
    return bool(parts) and all(
        isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        or (isinstance(part, ast.Raise) and "NotImplementedError" in ast.unparse(part))
        for part in parts
    )


_SUPPLYING = _DEFINITION | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Try
"""Statements of other blocks that are put before code which uses what they bind."""


def _with_missing(code: str, reply: str) -> str:
    """Return code behind those statements of a reply's other blocks that bind what it uses and does not bind."""
    tree = programs.parse(code)
    if tree is None or "from __future__" in code:
        return code
    statements: dict[str, tuple[int, str, ast.stmt]] = {}
    plain = (block for tag, block in _list_blocks(reply) if tag.lower() in ("plaintext", "text", "txt"))
    for block in islice(itertools.chain(_list_python(reply), plain), 64):
        others = None if block == code else programs.parse(block)
        lines = block.split("\n")
        for statement in () if others is None else others.body:
            if isinstance(statement, _SUPPLYING):
                marks = getattr(statement, "decorator_list", ())
                first = min([statement.lineno, *(mark.lineno for mark in marks)])
                source = "\n".join(lines[first - 1 : statement.end_lineno])
                for name in top_level_names(ast.Module([statement], [])):
                    if not is_begun(source, name):
                        statements.setdefault(name, (len(statements), source, statement))
    missing: list[ast.AST] = [tree]
    bound, needed = set(dir(builtins)), dict[int, str]()
    while missing and statements:
        used = set[str]()
        for node in ast.walk(missing.pop()):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used.add(node.id)
            elif not isinstance(node, ast.keyword):
                names = (getattr(node, key, None) for key in ("asname", "name", "arg", "id"))
                bound.add(str(next(filter(None, names), "")).partition(".")[0])
        for name in sorted((used - bound) & statements.keys()):
            position, source, statement = statements.pop(name)
            if source not in needed.values():
                needed[position] = source
                missing.append(statement)
    return "".join(f"{needed[position]}\n" for position in sorted(needed)) + code


def _candidates(reply: str) -> Iterator[tuple[Step, str]]:
    for code in _list_python(reply):
        yield "fence", code
    for part in reply.split("</code>")[:-1]:
        yield "markers", html.unescape(part.rpartition("<code")[2].partition(">")[2])
    if _MARKER.search(reply):
        for part in _MARKER.split(reply):
            yield "markers", part
    texts = [_LEFT_OVER.sub("", reply)]
    start = _CODE_START.search(reply)
    if start and start.start() and _PROSE.search(reply, 0, start.start()):
        texts.append(reply[start.start() :])
    for text in [*texts, *islice(_list_python(reply), 4)]:
        yield "prose", text
        # Eight: prose later than that has code-like lines before it that do not parse either.
        for match in islice(_PROSE.finditer(text), 8):
            if match.start():
                yield "prose", text[: match.start()]


def _list_last_resorts(reply: str, entry_point: str) -> Iterator[tuple[str, Step]]:
    """Yield code that defines the entry point in blocks of other tags, and between other signs of a frame."""
    heres = islice(_HERE.finditer(reply), 8)
    files = (re.split(rf"(?m)^{here[1]}\s*$", reply[here.end() :], maxsplit=1) for here in heres)
    parts: list[tuple[Step, str]] = [("markers", file[0]) for file in files if file[1:]]
    blocks = (*_list_blocks(reply), *_list_blocks(reply, nested=True))
    parts += [("fence", block) for tag, block in blocks if not _PYTHON_TAG.fullmatch(tag)]
    parts += [("markers", part) for part in _FRAME.split(reply) if part != reply]
    for step, part in islice(parts, 64 if entry_point else 0):
        for _, text in _candidates(part):
            if defines(text, entry_point) and not is_begun(text, entry_point):
                yield text, step
    if not entry_point:
        return
    yield from _list_data(reply, entry_point)
    if compiles(reply):
        return
    inline = ((part["line"] or part["code"] or part["verb"]).strip() for part in islice(_INLINE.finditer(reply), 64))
    readings = dict.fromkeys(code for code in inline if _is_definition(code, entry_point))
    # One that a sentence names is the answer; of several it is not known which.
    others = [*readings] if len(readings) == 1 else []
    for text in islice(itertools.chain(_list_disguised(reply), others), 64):
        if _is_definition(text, entry_point) and not is_begun(text, entry_point):
            yield text, "markers"


def list_beginnings(reply: str, is_code: Callable[[str], bool], entry_point: str) -> Iterator[tuple[str, Step]]:
    """Yield code behind which a reply goes on: after a lone fence or a token of its model."""
    parts = [*islice(_TOKEN.split(reply), 8), *islice(_TAG.split(reply), 8)]
    parts += [block for part in parts[:4] for _, block in islice(_list_blocks(part), 4)]
    parts += [re.split(r"(?m)^[ \t]*(?:`{3}|~{3})", part, maxsplit=1)[0] for part in parts]
    for part in dict.fromkeys(parts):
        is_whole = bool(entry_point) and defines(part, entry_point) and not is_begun(part, entry_point)
        is_body = part.lstrip("\r\n")[:1].isspace() or (not entry_point and _CODE_START.search(part))
        if part.strip() and part != reply and (is_whole or (is_body and is_code(part))):
            yield part, "markers"


def _is_definition(text: str, name: str) -> bool:
    """Whether a module defines a function or class, and is not the inside of one."""
    tree = programs.parse(text) if len(text) <= PARSE_CAP and defines(text, name) else None
    statements: list[ast.AST] = [*tree.body] if tree else []
    for node in [node for node in statements if isinstance(node, ast.If | ast.Try | ast.With)]:
        statements += ast.iter_child_nodes(node)
    values = (ast.Lambda, *((ast.Attribute, ast.Call, ast.Name) if len(statements) > 1 else ()))
    stores = (node for node in statements if isinstance(node, ast.Assign) and isinstance(node.value, values))
    names = {ast.unparse(target) for node in stores for target in node.targets}
    names |= {getattr(node, "name", "") for node in statements}
    return name in names and not any(isinstance(node, ast.Return) for node in statements)


def _list_data(reply: str, entry_point: str) -> Iterator[tuple[str, Step]]:
    """Yield the only code that defines the entry point in a reply that is nothing but a text in quotes or JSON, or ends so."""
    quotes, text = reply.strip()[:3], reply.strip()[3:-3]
    parts = [text] if quotes in ("'''", '"""') and reply.rstrip().endswith(quotes) and quotes not in text else []
    end = 0
    for begin in islice(_BRACKET.finditer(reply) if entry_point in reply else (), 64):
        with contextlib.suppress(ValueError, RecursionError):
            if begin.start() >= end:
                value, end = json.JSONDecoder().raw_decode(reply, begin.end() - 1)
                parts += _list_texts(value)
    readings = dict.fromkeys(_LEFT_OVER.sub("", code) for part in parts for code in (part, *_list_python(part)))
    codes = [code for code in readings if _is_definition(code, entry_point) and not is_begun(code, entry_point)]
    tree = programs.parse(textwrap.dedent(reply)) if codes else None
    if len(codes) == 1 and all(isinstance(node, ast.Expr) for node in (tree.body if tree else ())):
        yield codes[0], "markers"


def _list_texts(value: object) -> Iterator[str]:
    """Yield the texts in decoded JSON; the lines of a list as one, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        values = list(value.values()) if isinstance(value, dict) else value
        if values and all(isinstance(line, str) for line in values) and isinstance(value, list):
            yield ("" if values[0].endswith("\n") else "\n").join(values)
        for part in values:
            yield from _list_texts(part)


def _list_disguised(reply: str) -> Iterator[str]:
    """Yield code of which a reply shows each line behind a sign, or that stands in another format."""
    for block in (reply, *(block for _, block in islice(_list_blocks(reply), 16))):
        lines = block.split("\n")
        if all(line[:1] in "+- @\\" for line in lines):
            yield "\n".join(line[1:] for line in lines if line[:1] in "+ " and not line.startswith("+++"))
        yield re.sub(r"(?m)^[%!][^\n]*\n", "", block)  # without commands to a notebook
    typed = [line.rstrip("\r") for _, line in _SHELL.findall(reply)]
    session = programs.parse("\n".join(typed))
    # without the expressions of which the shell showed the values
    for node in session.body if session else ():
        if isinstance(node, ast.Expr) and node.end_lineno:
            typed[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    yield "\n".join([*typed, ""])
    if reply.translate(_BLANKS) != reply:
        yield from (text for _, text in _candidates(reply.translate(_BLANKS)))
    for part in islice(_OTHER_FRAME.split(reply), 24):
        yield html.unescape(part)
    numbered = list[list[str]]()
    for number, line in _NUMBERED.findall(reply):
        if number == "1":
            numbered.append([line])
        elif numbered and int(number) == len(numbered[-1]) + 1:
            numbered[-1].append(line)
    yield from ("\n".join(lines) + "\n" for lines in numbered[:8])
    # what a reply begins with further in goes on with its prompt
    for is_inset, group in itertools.groupby(reply.lstrip(" \t").split("\n"), lambda line: line[:1] in " \t\r>"):
        lines = list(group) if is_inset else []
        first = next((line for line in lines if line.strip()), "")
        yield _unindent(lines, first[: len(first) - len(first.lstrip(" \t>"))])


# The answer in a reply that is written in another language than Python: no parser, only lines.

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\b[^\W\d]\w*+")
_IMPORT = re.compile(r"\s*+(?:(?:using|import|use)\s[^()]*+|#\s*+include\b.*+)")
_GO_HEAD = re.compile(r'^(?:package\s+\w+|import\s*(?:\([^)]*\)|"[^"\n]*"))[^\S\n]*\n?', re.MULTILINE)
_COMMENT = ("//", "#", "--", ";", "%", "*", "/*")
_BEGINS_BLOCK = re.compile(r"^\s*+(?:local\s+)?(?:function|def|class|module)\b")
_ENDS_HEAD = re.compile(r"(?<=[\w>\]])(?<!derive)\(|=|<-|\{[ \t]*$|\n(?=[\s{])", re.MULTILINE)
"""Where a definition has named what it defines: its parameters, its value or its body begin."""
_NAMED = re.compile(r"\b[^\W\d]\w*+(?=\s*+(?:\Z|(?!::|\.)[^\w\s]))")
_STATEMENT = re.compile(r"\A(?:[\w.:$>-]+\((?!\)\s*\{)|(?:done|echo|else|esac|fi|for|foreach|if|print|puts|while)\b)")
_PLAIN = {"const", "enum", "extern", "func", "function", "init", "static", "struct", "union", "var"}
"""What may begin a definition without a name of its own."""


def extract_answer(
    reply: str, prompt: str, tests: str, *, raw: bool = True
) -> tuple[str, Literal["as_is", "fence"], Literal["whole", "completion"]]:
    """Return a reply's answer with the prompt that it completes, how it was found, and which of the two it was.

    An answer that repeats the last line of the prompt is whole, also with other names of parameters: what stands before
    that line is kept in the place of the prompt, with those of its imports that it lacks, or behind the prompt if it has
    no line of what the prompt defines before.

    An answer ends where its definition does: behind it tests of its own and a `main` would stand in the way of the
    benchmark's, and a completion goes on until it is cut off. Definitions behind it that it uses are put before it.
    Where the tests begin with the brace that ends the definition, it is left to them.

    Args:
        reply: what a model wrote.
        prompt: what the benchmark begins the program with.
        tests: what it puts behind it.
        raw: leave out what the model thought aloud, and look for fenced code.
    """
    last = prompt.rstrip().rpartition("\n")[2]
    begun = last if _WORD.search(last) and not last.strip().startswith(_COMMENT) else ""
    code, step = _extract_fenced(without_thoughts(reply), begun) if raw else (reply, "as_is")
    if prompt.lstrip().startswith("<?php"):
        code = code.rstrip().removesuffix("?>")  # the benchmark's tests behind it would be no code
    closed_by_tests = tests.lstrip().startswith("}")
    lines = code.split("\n")
    first_line = next((number for number, line in enumerate(lines) if begun and _same(line, begun)), None)
    if first_line is None and "(" in begun:
        # The same definition with other parameters; one that ends in a semicolon only declares.
        name, bare = _SPACE.sub("", begun).partition("(")[0], [_SPACE.sub("", line) for line in lines]
        whole = (number for number, line in enumerate(bare) if line.startswith(f"{name}(") and line[-1] != ";")
        first_line = next(whole, None)
    if not begun or first_line is None:
        prompt_lines = prompt.split("\n")
        heads = enumerate(_blank_texts(prompt, prompt).split("\n") if raw else [])
        for index in [index for index, line in heads if line.rstrip().endswith("{") or _BEGINS_BLOCK.match(line)][-1:]:
            blank, inset = _blank_texts(code, prompt).split("\n"), _inset(prompt_lines[index])
            end = _find_end(blank, inset, by_brace=prompt_lines[index].rstrip().endswith("{"))
            if end is not None and (closed_by_tests or not inset):
                code = "\n".join([*lines[: end + 1 - closed_by_tests], ""])
                helpers = _list_used(lines, blank, end, prompt_lines[index])
                prompt = "\n".join([*prompt_lines[:index], *helpers, *prompt_lines[index:]])
        is_complete = bool(begun) and bool(re.search(rf"\b{re.escape(_name(begun))}\s*[(<=]", code)) and step == "fence"
        return (code, step, "whole") if is_complete or not prompt else (prompt + code, step, "completion")  # type: ignore[return-value]
    head = lines[:first_line]
    before = prompt[: prompt.rstrip().rfind("\n") + 1]
    outermost = [line for line in before.split("\n") if line[:1].strip() and _WORD.search(line)]
    frame = [line for line in outermost if not line.startswith(_COMMENT) and not _IMPORT.fullmatch(line)]
    go_head, packages = "", list[str]()
    if before.startswith("package ") and any(line.startswith("package ") for line in head):
        # Go allows one package clause, imports only behind it, each of them once and none that is not used.
        packages = re.findall(r'"([^"\n]+)"', "".join(_GO_HEAD.findall("\n".join(head))))
        others = _GO_HEAD.sub("", "\n".join(head)).split("\n")
        go_head, head = before, [line for line in others if not (line.startswith("//") and line in outermost)]
    elif frame and not any(_same(line, other) for line in head for other in frame):
        head = [before.rstrip("\n"), *head]
    else:
        lines_known = {_SPACE.sub("", line) for line in head}
        imports = (line for line in before.split("\n") if _IMPORT.fullmatch(line))
        head = [*(line for line in imports if _SPACE.sub("", line) not in lines_known), *head]
    # A Lua module ends with what it returns: tests behind that would be no code.
    body = re.sub(rf"\nreturn {re.escape(_name(begun))}\s*\Z", "", "\n".join(lines[first_line:])).split("\n")
    blank, inset = _blank_texts("\n".join(body), prompt).split("\n"), _inset(body[0])
    is_open = "".join(blank[:2] if blank[0].rstrip().endswith(")") else blank[:1]).rstrip().endswith("{")
    closing = (f"{inset}}}", f"{inset}}};")
    end = next((number for number, line in enumerate(blank) if is_open and number and line.rstrip() in closing), None)
    if end is not None:
        head += _list_used(body, blank, end, body[0])
        body = body[: end + 1 - closed_by_tests]
        if not closed_by_tests and inset:  # the class around it, if there is one, ends with it
            program = _blank_texts("\n".join([*head, *body]), prompt)
            body += ["}"] * (program.count("{") - program.count("}"))
    program = go_head + with_imports("\n".join([*head, *body, ""]), go_head, packages)
    return program, step, "whole"  # type: ignore[return-value]  # one of the two


def with_imports(text: str, setup: str, packages: Sequence[str]) -> str:
    """Return a text in Go behind the imports of those packages that it uses and that neither it nor its set-up imports."""
    used = (path for path in packages if re.search(rf"\b{path.rpartition('/')[2]}\.", text))
    return "".join(f'import "{path}"\n' for path in used if f'"{path}"' not in setup + text) + text


def _same(line: str, other: str) -> bool:
    """Whether two lines say the same; the brace that opens a definition may stand on the next."""
    return _SPACE.sub("", line).removesuffix("{") == _SPACE.sub("", other).removesuffix("{")


def _name(line: str) -> str:
    match = re.search(r"\b(\w++)\s*+(?:\(|<-|=)", line)
    return match[1] if match else line.strip()


def _extract_fenced(reply: str, begun: str) -> tuple[str, str]:
    answer, head = _DRAFT.sub("", reply) or reply, _SPACE.sub("", begun).removesuffix("{")
    blocks = [code for part in (*reversed(_FINAL.split(answer)[1:]), answer, reply) for _, code in _list_blocks(part)]
    blocks.sort(key=lambda block: (head not in _SPACE.sub("", block), _name(begun) not in block))
    return (blocks[0], "fence") if blocks else (answer, "as_is")


def _inset(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _find_end(lines: list[str], inset: str, *, by_brace: bool) -> int | None:
    """Return the place of the line that ends a definition begun this far in, which these lines go on with."""
    depth = 0
    for number, line in enumerate(lines):
        depth += line.count("{") - line.count("}")
        if by_brace and depth < 0 and line.rstrip() in (f"{inset}}}", f"{inset}}};"):
            return number
        # `end` closes other blocks too: it is the definition's where nothing before it stands as far out.
        if not by_brace and line.strip() and len(_inset(line)) <= len(inset):
            return number if line.rstrip() == f"{inset}end" else None
    return None


def _list_used(lines: list[str], blank: list[str], end: int, begun: str) -> list[str]:
    """Return the lines of what stands behind an answer's end, as far in as its first line, that it or they use.

    A part is used by the names in its head or, where that has none of its own, by any of its words.
    """
    inset, name, known, parts = _inset(begun), _name(begun), set(_WORD.findall(begun)), list[list[int]]()
    for number, line in enumerate(blank[end + 1 :], end + 1):
        before, is_inner = blank[number - 1].rstrip(), not line.strip() or _inset(line) > inset
        if not line.startswith(inset) and line.strip():
            break
        is_open = _inset(before) == inset and before[-1:] not in (*";})", "") and not re.search("=|end$", before)
        if not is_inner and not is_open and not re.match(r"\s*(?:[]{})]|end$)", line):
            parts.append([])
        for part in parts[-1:]:
            part.append(number)
    by_name: dict[str, list[int]] = {}
    texts = ["\n".join(blank[number][len(inset) :] for number in part) for part in parts]
    for index, text in enumerate(texts):
        stop, words = _ENDS_HEAD.search(text), _WORD.findall(text)
        head, has_body = text[: stop.start()] if stop else text, bool(re.search(r"\{|\bend\b", text))
        named = re.findall(r"\bdef\s+(?:self\.)?(\w+)" if has_body else r"\b(\w+)\s*(?:=|<-)", text)
        if not named and not (stop and stop[0] == "(" and has_body):
            named = _WORD.findall(head)[1:]
        names = {*_NAMED.findall(head), *named} - _PLAIN or set(words)
        if _STATEMENT.match(text):  # of PHP's constants the names are texts
            names = set(re.findall(r"\Adefine\(\W(\w+)", lines[parts[index][0]]))
        elif name in (names if has_body else words) and not re.match(rf"{re.escape(name)}[.\[][^(=]*=", text):
            continue  # it defines the answer anew, or tries it
        for defined in names - known if "main" not in names else ():
            by_name.setdefault(defined, []).append(index)
    indexes, waiting = set[int](), _WORD.findall("\n".join(blank[:end]))
    while waiting:
        for index in by_name.pop(waiting.pop(), ()):
            if index not in indexes:
                indexes.add(index)
                waiting += _WORD.findall(texts[index])
    return [lines[number] for index in sorted(indexes) for number in parts[index]]


# Texts and comments, in which a brace is only a character. Raw texts of C++, of Rust and D, and of C#; `\\.` goes first so that
# an escaped quote begins no text. What is never closed goes on to the end, or counts for nothing where it had to end on its
# line: either way no character is read more than twice.
_APART = re.compile(
    r"\\.|//[^\n]*+|/\*.*?(?:\*/|\Z)"
    r'|\b(?:u8|[LUu])?R"([^()\s\\]{0,16}+)\(.*?(?:\)\1"|\Z)|\bb?r(#{0,8}+)".*?(?:"\2|\Z)|(?:@\$?|\$@)"(?:[^"]|"")*+(?:"|\Z)'
    r'|""".*?(?:"""|\Z)|"(?:[^"\\\n]|\\.)*+"'
    r"|'(?:[^'\\\n]|\\.[^'\n]{0,8})'|`(?:[^`\\]|\\.)*+`",
    re.DOTALL,
)
_APART_BY_HASH = re.compile(r"""\\.|(?<!\S)#[^\n]*+|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'""", re.DOTALL)
_HASH_COMMENT = re.compile(r"^[ \t]*#[ !]", re.MULTILINE)


def _blank_texts(code: str, prompt: str) -> str:
    """Return a program with spaces where its texts and comments are; comments are begun as in the prompt."""
    pattern = _APART_BY_HASH if _HASH_COMMENT.search(prompt) else _APART
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
