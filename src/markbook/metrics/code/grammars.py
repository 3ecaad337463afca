"""The languages of CodeBLEU: their keywords, and the node kinds that move values."""

from __future__ import annotations

from dataclasses import replace

from markbook.metrics.code.walk import Grammar

KEYWORDS: dict[str, frozenset[str]] = {
    lang: frozenset(words.split())
    for lang, words in {
        "python": "False None True and as assert async await break case class continue def del elif else except finally "
        "for from global if import in is lambda match nonlocal not or pass raise return try type while with yield",
        "java": "abstract assert boolean break byte case catch char class const continue default do double else enum "
        "extends final finally float for goto if implements import instanceof int interface long native new package "
        "private protected public return short static strictfp super switch synchronized this throw throws transient "
        "try void volatile while",
        "javascript": "async await break case catch class const continue debugger default delete do else enum export "
        "extends false finally for function if implements import in instanceof interface let new null package private "
        "protected public return static super switch this throw true try typeof var void while with yield",
        "go": "break case chan const continue default defer else fallthrough false for func go goto if import interface "
        "map package range return select struct switch true type var",
        "c": "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while",
        "cpp": "and asm auto bitand bitor bool break case catch char class compl const const_cast constexpr continue "
        "default delete do double dynamic_cast else enum explicit extern false float for friend goto if inline int long "
        "mutable namespace new not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
        "return short signed sizeof static static_cast struct switch template this throw true try typedef typeid "
        "typename union unsigned using virtual void volatile wchar_t while xor xor_eq",
        "rust": "as async await box break const continue crate dyn else enum extern false fn for if impl in let loop "
        "match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while",
        "c_sharp": "abstract as async await base bool break byte case catch char checked class const continue decimal "
        "default delegate do double else enum event explicit extern false finally fixed float for foreach goto if "
        "implicit in int interface internal is lock long namespace new null object operator out override params private "
        "protected public readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this "
        "throw true try typeof uint ulong unchecked unsafe ushort using var virtual void volatile while yield",
        "php": "abstract and array as break callable case catch class clone const continue declare default do echo else "
        "elseif empty enddeclare endfor endforeach endif endswitch endwhile eval exit extends final finally fn for "
        "foreach function global goto if implements include include_once instanceof insteadof interface isset list "
        "match namespace new or print private protected public require require_once return static switch throw trait "
        "try unset use var while xor yield",
        "ruby": "BEGIN END alias and begin break case class def defined? do else elsif end ensure false for if in module "
        "next nil not or redo rescue retry return self super then true undef unless until when while yield",
    }.items()
}
"""Words that weigh more in the second part: the reserved words of each language, and Python's soft ones."""

_C_LIKE = Grammar(
    assignments=frozenset({"assignment_expression"}),
    updates=frozenset({"update_expression"}),
    branches=frozenset({"if_statement"}),
    alternatives=frozenset({"else_clause"}),
    loops=frozenset({"while_statement", "do_statement"}),
    counted=frozenset({"for_statement"}),
)
_AUGMENTED = frozenset({"assignment_expression", "augmented_assignment_expression"})

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(
        assignments=frozenset({"assignment", "augmented_assignment", "for_in_clause"}),
        pairwise=True,
        declarations={"default_parameter": ("name", "value")},
        branches=frozenset({"if_statement"}),
        alternatives=frozenset({"elif_clause", "else_clause"}),
        loops=frozenset({"while_statement"}),
        each={"for_statement": ("left", "right", "body")},
        first=frozenset({"for_in_clause"}),
    ),
    "java": replace(
        _C_LIKE,
        declarations={"variable_declarator": ("name", "value")},
        each={"enhanced_for_statement": ("name", "value", "body")},
    ),
    "javascript": replace(
        _C_LIKE,
        assignments=_AUGMENTED,
        declarations={"variable_declarator": ("name", "value")},
        each={"for_in_statement": ("left", "right", "body")},
        names=frozenset({"identifier", "shorthand_property_identifier_pattern"}),
    ),
    "c": replace(_C_LIKE, declarations={"init_declarator": ("declarator", "value")}),
    "cpp": replace(
        _C_LIKE,
        declarations={"init_declarator": ("declarator", "value")},
        each={"for_range_loop": ("declarator", "right", "body")},
    ),
    "go": Grammar(
        assignments=frozenset({"assignment_statement", "short_var_declaration", "range_clause"}),
        pairwise=True,
        declarations={"var_spec": ("name", "value"), "const_spec": ("name", "value")},
        updates=frozenset({"inc_statement", "dec_statement"}),
        branches=frozenset({"if_statement"}),
        loops=frozenset({"for_statement"}),
    ),
    "rust": Grammar(
        assignments=frozenset({"assignment_expression", "compound_assignment_expr"}),
        declarations={"let_declaration": ("pattern", "value")},
        branches=frozenset({"if_expression"}),
        alternatives=frozenset({"else_clause"}),
        loops=frozenset({"while_expression", "loop_expression"}),
        each={"for_expression": ("pattern", "value", "body")},
    ),
    "c_sharp": replace(
        _C_LIKE,
        declarations={"variable_declarator": ("name", "#0")},
        updates=frozenset({"postfix_unary_expression"}),
        each={"foreach_statement": ("left", "right", "body")},
    ),
    "php": replace(
        _C_LIKE,
        assignments=_AUGMENTED,
        each={"foreach_statement": ("#1", "#0", "body")},
        names=frozenset({"name"}),
    ),
    "ruby": Grammar(
        assignments=frozenset({"assignment", "operator_assignment"}),
        branches=frozenset({"if", "unless"}),
        alternatives=frozenset({"elsif", "else"}),
        loops=frozenset({"while", "until"}),
        each={"for": ("pattern", "value", "body")},
    ),
}
"""How values move in each language."""
