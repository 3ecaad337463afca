"""Code out of replies: without the reasoning, out of its fence, with the imports that it needs."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import html
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal

from markbook.testcode import programs

# Where a reply's answer begins: behind what its model thought aloud, between `<think>` and `</think>`.

_END = "</think>"
_SIGNS = re.compile(
    r"(?:^[ \t]{0,3}|(?<=</think>)[ \t]*)(?P<fence>`{3,}+|~{3,}+)(?P<info>(?:(?!</think>)[^\n])*+)"
    r"|(?:^|(?<=</think>))[ \t]*+(?P<begin><think>)"
    r"|(?<![^\s(\[{=,:+])(?P<quote>[\"'`])(?:(?!(?P=quote))[^\n]){0,200}</think>(?=[^\n]{0,200}(?P=quote))"
    r"|(?P<end></think>)",
    re.MULTILINE,
)
"""A line that opens or closes a block, a tag that begins a thought, one that is only quoted, and one that ends a thought."""


def without_thoughts(reply: str) -> str:
    """Return a reply from where its last thought ends; a thought that does not end, and what is behind it, is left out.

    Servers often begin the thought in the prompt, so what stands before a lone `</think>` is a thought too. A tag is none
    where it stands in quotes, or in a fenced block that is closed behind it: there it is part of a program.

    >>> without_thoughts("<think>two and two</think>4")
    '4'
    """
    if _END not in reply and "<think>" not in reply:
        return reply
    start = cut = 0
    is_thinking = False
    block = ""  # the fence that is open
    waiting = 0  # behind a tag in a block, of which it is not known yet whether it is closed
    for sign in _SIGNS.finditer(reply):
        if sign["fence"] and not is_thinking:
            is_closed = bool(block) and sign["fence"].startswith(block) and not sign["info"].strip()
            if waiting and not is_closed and sign["info"].strip():
                start, block = waiting, ""
            block, waiting = ("" if is_closed else block or sign["fence"]), 0 if is_closed else waiting
        elif sign["begin"] and not (is_thinking or block):
            is_thinking, cut = True, sign.start()
        elif sign["end"] or (sign["quote"] and is_thinking):
            if block:
                waiting = sign.end()
            else:
                start, is_thinking = sign.end(), False
    return reply[start:cut] if is_thinking else reply[start:]


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
_BARE_MARKER = re.compile(r"^\[/?(?:END|DONE|BEGIN|PYTHON|CODE|ANSWER|SOLUTION)\]\s*$", re.MULTILINE)
"""`[END]` alone on a line is Python, a list of one unknown name; in a reply it is where the code ends."""
_LAST_SIGNS = re.compile(r"(?<!\s)(?<!\|>)(?<!</s>)\s*+(?:(?:<\|\w{1,32}\|>|</s>)\s*+)++\Z")
"""What a model ends its reply with, where its server has left that in."""
_FRAME = re.compile(r"^[ \t]*(?:<\w+>|\*\*[^*\n]+\*\*:?|-{3,})[ \t]*$|</\w+>[ \t]*$", re.MULTILINE)
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
_MAGIC = re.compile(r"^[%!][^\n]*\n", re.MULTILINE)
"""A command to a notebook."""
_BLANKS = {0xA0: " ", 0x202F: " ", 0x200B: None, 0x2060: None, 0xFEFF: None}
"""Spaces that are none to Python, as web pages make them of those in code."""
_TOKEN = re.compile(r"<\|\w{1,32}\|>|</?s>|<(?:bos|eos|end_of_turn)>|\[/?INST\]")
"""What a model begins and ends its turns with; behind an end some go on with a turn of somebody else's."""
_TAG = re.compile(r"^[ \t]*<[ \t]?[A-Za-z][\w-]*(?:[ =][^<>\n]{0,80})?>|</[ \t]?[A-Za-z][\w-]*>[ \t]*$", re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_DRAFT = re.compile(
    r"\A(?:\s*(?:<(analysis|reasoning|scratchpad|seed:think|thinking|thought)>.*?</\1>|\[THINK\].*?\[/THINK\]"
    r"|\u25c1think\u25b7.*?\u25c1/think\u25b7|<\|begin_of_thought\|>.*?<\|end_of_thought\|>))+",
    re.DOTALL,
)
_LEFT_OVER = re.compile(r"\A(?:\s*+(?:python3?|py)[ \t\r]*+\n)++", re.IGNORECASE)
"""The word of a fence that is gone: as the first line of a program it would be an unknown name."""
_BRACKET = re.compile(r"^[ \t]*+[\[{](?=\s*+[\[{\"])", re.MULTILINE)
"""Where JSON begins."""
_FINAL = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t#*_]*+(?:here(?:['\u2019]s| is) )?(?:the |my )?(?:corrected|final|fixed)(?: python)?"
    r"(?: (?:answer|code|function|implementation|program|script|solution|version)(?: of (?:the|my|your) \w++)?)?"
    r"[ \t*_]*+:[ \t*_]*+\n\s*+(?=```|~~~)",
    re.MULTILINE | re.IGNORECASE,
)
"""A sentence that says nothing but that the block behind it counts instead of those before."""
_CODE_START = re.compile(r"^(?:@\w|def |async def |class |import |from \w[\w.]* import )", re.MULTILINE)
_PROSE = re.compile(
    r"^(?:#{1,6} |[-*\u2022] |\d+[.)] )?[\"'(*_]*[A-Z][\w'\u2019-]*[,:]?(?: +[^\s=]+){2,}", re.MULTILINE
)


def extract(reply: str, is_code: Callable[[str], bool], entry_point: str = "") -> tuple[str, Step]:
    """Return the code in a reply, and how it was found.

    That is `as_is`, or the step that found code, or `none`: nothing did, and the text is the whole reply. `is_code`
    is `compiles`, or another notion of it (a body behind a prompt); among several blocks the one that defines
    `entry_point` is taken.
    """
    if word := _LEFT_OVER.match(reply):
        text, step = extract(reply[word.end() :], is_code, entry_point)
        if step != "none":
            return text, "markers" if step == "as_is" else step
    is_all_code = len(reply) > PARSE_CAP or is_code(reply)
    if is_all_code and not _BARE_MARKER.search(reply):
        return next(_list_data(reply, entry_point), (reply, "as_is"))
    if not is_all_code and (answer := _LAST_SIGNS.sub("", without_thoughts(reply))) != reply:
        return extract(answer, is_code, entry_point)
    first: tuple[str, Step] | None = (reply, "as_is") if is_all_code else None
    begun: tuple[str, Step] | None = None
    final: list[tuple[Step, str]] = []
    if entry_point and not is_all_code:
        text, step = (
            extract(answer, is_code, entry_point) if (answer := _DRAFT.sub("", reply)) != reply else ("", "none")
        )
        if step != "none" and defines(text, entry_point):
            return text, step
        tails = _FINAL.split(reply)[1:][-1:]
        blocks = [
            block
            for part in tails
            for nested in (False, True)
            for block in islice(_list_blocks(part, nested=nested), 1)
        ]
        final = [
            ("fence", text) for tag, text in blocks if _PYTHON_TAG.fullmatch(tag) and _is_definition(text, entry_point)
        ]
    for step, text in itertools.chain(final, _candidates(reply)):
        if not text.strip() or not is_code(text):
            continue
        if entry_point and not defines(text, entry_point):
            first = first or (text, step)
        elif step == "fence" and is_begun(text, entry_point):
            begun = begun or (text, step)
        else:
            return (_with_missing(text, reply) if step == "fence" else text), step
    readings = itertools.chain(_list_last_resorts(reply, entry_point), list_beginnings(reply, is_code, entry_point))
    return begun or first or next(readings, (reply, "none"))


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


_BINDING = ast.stmt | ast.alias | ast.ExceptHandler | ast.match_case | ast.withitem
"""What may bind names in the scope that it stands in, beside targets."""


def top_level_names(tree: ast.Module) -> set[str]:
    """Return the functions, classes, assigned and imported names of a module's top level, also behind a condition."""
    names = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
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
            if is_plain or (
                not is_code and (not fence["words"] or (fence["tag"] and _PYTHON_TAG.fullmatch(fence["tag"])))
            ):
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
        yield from (code for tag, code in _list_blocks(reply, nested=nested) if _PYTHON_TAG.fullmatch(tag))


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


_SUPPLYING = (
    ast.Import
    | ast.ImportFrom
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
    | ast.Assign
    | ast.AnnAssign
    | ast.Try
)
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
    texts = [reply]
    start = _CODE_START.search(reply)
    if start and start.start() and _PROSE.search(reply, 0, start.start()):
        texts.append(reply[start.start() :])
    for text in texts:
        yield "prose", text
        # Eight: prose later than that has code-like lines before it that do not parse either.
        for match in islice(_PROSE.finditer(text), 8):
            if match.start():
                yield "prose", text[: match.start()]


def _list_last_resorts(reply: str, entry_point: str) -> Iterator[tuple[str, Step]]:
    """Yield code that defines the entry point in blocks of other tags, and between other signs of a frame."""
    parts: list[tuple[Step, str]] = [
        ("fence", block)
        for nested in (False, True)
        for tag, block in _list_blocks(reply, nested=nested)
        if not _PYTHON_TAG.fullmatch(tag)
    ]
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
    inline = [
        (match["line"] or match["code"] or match["verb"]).strip() for match in islice(_INLINE.finditer(reply), 64)
    ]
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
    parts += [_FENCE_LINE.split(part, maxsplit=1)[0] for part in parts]
    parts = [part for part in dict.fromkeys(parts) if part.strip()]
    for part in parts:
        is_whole = bool(entry_point) and defines(part, entry_point) and not is_begun(part, entry_point)
        is_body = part.lstrip("\r\n")[:1].isspace() or (not entry_point and _CODE_START.search(part))
        if part != reply and (is_whole or (is_body and is_code(part))):
            yield part, "markers"


def _is_definition(text: str, name: str) -> bool:
    """Whether a module defines a function or class, and is not the inside of one."""
    tree = programs.parse(text) if len(text) <= PARSE_CAP and defines(text, name) else None
    statements = tree.body if tree else []
    lambdas = [node for node in statements if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)]
    names = {ast.unparse(target) for node in lambdas for target in node.targets}
    is_defined = name in names or any(getattr(node, "name", "") == name for node in statements)
    return is_defined and not any(isinstance(node, ast.Return) for node in statements)


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
    if len(codes) == 1 and not defines(reply, entry_point):
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
    blocks = [(tag, block) for tag, block in islice(_list_blocks(reply), 16)]
    for tag, block in [("json", reply), *blocks]:
        if tag.lower() == "json" and block.lstrip().startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                yield from (value for value in json.loads(block).values() if isinstance(value, str))
        elif (lines := block.split("\n")) and all(line[:1] in "+- @\\" for line in lines):
            yield "\n".join(line[1:] for line in lines if line[:1] in "+ " and not line.startswith("+++"))
        yield _MAGIC.sub("", block)
    for here in islice(_HERE.finditer(reply), 8):
        if end := re.compile(rf"^{here[1]}\s*$", re.MULTILINE).search(reply, here.end()):
            yield reply[here.end() : end.start()]
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
_WORD = re.compile(r"\w+")
_IMPORT = re.compile(r"\s*+(?:(?:using|import|use)\s[^()]*+|#\s*+include\b.*+)")
_COMMENT = ("//", "#", "--", ";", "%", "*", "/*")
_BEGINS_BLOCK = re.compile(r"^\s*+(?:local\s+)?(?:function|def|class|module)\b")
_DEFINED = re.compile(
    r"\b(?:class|struct|enum|interface|trait|type|impl(?:\s++\w++\s++for)?|record|def|sub|function)\s++(\w++)"
)
_ASSIGNED = re.compile(r"\b(\w++)\s*+(?:<[^()<>]*+>\s*+)?[(=]")
_KEYWORDS = frozenset(
    ("catch", "def", "fn", "for", "func", "function", "if", "main", "return", "sub", "switch", "while")
)


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
    if first_line is None and begun:
        # The same definition with other parameters; one that ends in a semicolon only declares.
        name, bracket, _ = _SPACE.sub("", begun).partition("(")
        for number, line in enumerate(lines) if bracket else ():
            other, other_bracket, rest = _SPACE.sub("", line).partition("(")
            if other_bracket and name == other and not rest.endswith(";"):
                first_line = number
                break
    if not begun or first_line is None:
        prompt_lines = prompt.split("\n")
        heads = enumerate(_blank_texts(prompt, prompt).split("\n") if raw else [])
        for index in [index for index, line in heads if line.rstrip().endswith("{") or _BEGINS_BLOCK.match(line)][-1:]:
            blank, inset = _blank_texts(code, prompt).split("\n"), _inset(prompt_lines[index])
            end = _find_end(blank, inset, by_brace=prompt_lines[index].rstrip().endswith("{"))
            if end is not None and (closed_by_tests or not inset):
                code = "\n".join([*lines[: end + 1 - closed_by_tests], ""])
                helpers = _list_used(lines, blank, end, inset, _name(prompt_lines[index]))
                prompt = "\n".join([*prompt_lines[:index], *helpers, *prompt_lines[index:]])
        is_complete = bool(begun) and bool(re.search(rf"\b{re.escape(_name(begun))}\s*[(<=]", code)) and step == "fence"
        return (code, step, "whole") if is_complete or not prompt else (prompt + code, step, "completion")  # type: ignore[return-value]
    head = lines[:first_line]
    before = prompt[: prompt.rstrip().rfind("\n") + 1]
    outermost = [line for line in before.split("\n") if line[:1].strip() and _WORD.search(line)]
    frame = [line for line in outermost if not line.startswith(_COMMENT) and not _IMPORT.fullmatch(line)]
    if frame and not any(_same(line, other) for line in head for other in frame):
        head = [before.rstrip("\n"), *head]
    else:
        lines_known = {_SPACE.sub("", line) for line in head}
        imports = (line for line in before.split("\n") if _IMPORT.fullmatch(line))
        head = [*(line for line in imports if _SPACE.sub("", line) not in lines_known), *head]
    body = lines[first_line:]
    blank = _blank_texts("\n".join(body), prompt).split("\n")
    inset = _inset(body[0])
    is_open = "".join(blank[:2] if blank[0].rstrip().endswith(")") else blank[:1]).rstrip().endswith("{")
    ends = (
        number
        for number, line in enumerate(blank)
        if is_open and number and line.rstrip() in (f"{inset}}}", f"{inset}}};")
    )
    if (end := next(ends, None)) is not None:
        head += _list_used(body, blank, end, inset, _name(begun))
        body = body[: end + 1 - closed_by_tests]
        if not closed_by_tests and inset:  # the class around it, if there is one, ends with it
            program = _blank_texts("\n".join([*head, *body]), prompt)
            body += ["}"] * (program.count("{") - program.count("}"))
    return "\n".join([*head, *body]) + "\n", step, "whole"  # type: ignore[return-value]  # one of the two


def with_imports(text: str, setup: str, packages: Sequence[str]) -> str:
    """Return a text in Go behind the imports of those packages that it uses and that neither it nor its set-up imports."""
    imports_wanted = (
        package
        for package in packages
        if re.search(rf"\b{package.rpartition('/')[2]}\.", text) and f'"{package}"' not in setup + text
    )
    return "".join(f'import "{package}"\n' for package in imports_wanted) + text


def _same(line: str, other: str) -> bool:
    """Whether two lines say the same; the brace that opens a definition may stand on the next."""
    return _SPACE.sub("", line).removesuffix("{") == _SPACE.sub("", other).removesuffix("{")


def _name(line: str) -> str:
    match = re.search(r"\b(\w++)\s*+(?:\(|<-|=)", line)
    return match[1] if match else line.strip()


def _extract_fenced(reply: str, begun: str) -> tuple[str, str]:
    blocks = [code for _, code in _list_blocks(reply)]
    if not blocks:
        return reply, "as_is"
    with_it = [block for block in blocks if begun and any(_same(line, begun) for line in block.split("\n"))]
    named = [block for block in blocks if begun and _name(begun) in block]
    return (with_it or named or blocks)[0], "fence"


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


def _list_used(lines: list[str], blank: list[str], end: int, inset: str, name: str) -> list[str]:
    """Return the lines of those definitions behind an answer's end, as far in as itself, that it or they use."""
    parts: list[list[int]] = [[]]
    for number, line in enumerate(blank[end + 1 :], end + 1):
        outer = len(_inset(line)) - len(inset)
        if line.strip() and (outer < 0 or (not outer and line.lstrip()[0] not in "{}])" and line.strip() != "end")):
            parts.append([])
        parts[-1].append(number)
    by_name: dict[str, list[int]] = {}
    texts = ["\n".join(blank[number] for number in part) for part in parts]
    for index, text in enumerate(texts[1:], 1):
        head = text.partition("\n")[0]
        if _inset(head) == inset and not {name, "main"} & set(_WORD.findall(head)) and re.search(r"[{=]|\bend\b", text):
            for defined in {*_DEFINED.findall(text), *_ASSIGNED.findall(head)} - _KEYWORDS:
                by_name.setdefault(defined, []).append(index)
    indexes, waiting = set[int](), ["\n".join(blank[:end])]
    while waiting:
        for word in set(_WORD.findall(waiting.pop())) & by_name.keys():
            for index in by_name.pop(word):
                indexes.add(index)
                waiting.append(texts[index])
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
