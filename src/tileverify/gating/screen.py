"""The static screen: what a submission may hold, decided from its text, before anything of it runs.

It admits imports of ``cuda.tile``, ``triton.language`` and a few pure modules, constants, kernels, helper functions and
dataclasses, and refuses by default: a kind of node, name or attribute that is not known to be harmless is a reason.
It is a courtesy to honest authors, whose mistakes get a line and a sentence, and the first of two walls; the sandbox
is the second, and holds without it.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from .gated import Reason
from .screen_tree import (
    arguments,
    bound_names,
    called,
    dotted,
    is_sequence,
    module_names,
    operands,
    short,
    size_reasons,
    target_names,
)
from .screen_vocabulary import (
    BUILTINS,
    CONSTANT_CALLS,
    DECORATORS,
    INTROSPECTION,
    MODULES,
    MOST_BITS,
    MOST_BYTES,
    PURE_CALLS,
    Hints,
    TooLarge,
    hidden_in_literal,
    hints_of,
    integer_value,
    no_decorator,
    no_import,
    not_listed,
    text_reasons,
)
from .triton_vocabulary import (
    AUTOTUNE,
    CONFIG,
    JIT,
    TRITON_ATTRIBUTES,
    argument_problems,
    is_impure_assembly,
    names_alone,
)

MOST_REASONS: Final = 20


def screen(source: str | bytes) -> tuple[Reason, ...]:
    """Why ``source`` is not let through, in the order of the source, at most `MOST_REASONS`; none if it is."""
    if isinstance(source, str):
        source = source.encode("utf-8", errors="surrogatepass")
    if len(source) > MOST_BYTES:
        return (Reason("source-size", f"the source has {len(source)} bytes, more than {MOST_BYTES}"),)
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return (Reason("encoding", "the source is not UTF-8", line, 0),)
    reasons = tuple(text_reasons(text))
    if reasons:
        return reasons[:MOST_REASONS]
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return (Reason("syntax", f"the source is no Python: {error.msg}", error.lineno, (error.offset or 1) - 1),)
    except (RecursionError, MemoryError, ValueError):
        return (Reason("nesting", "the source is nested too deeply to be parsed", 1, 0),)
    size = next(size_reasons(tree), None)
    if size is not None:
        return (size,)
    found = sorted(Screen().reasons(tree), key=lambda reason: (reason.line or 0, reason.column or 0, reason.id))
    return tuple(dict.fromkeys(found))[:MOST_REASONS]


# ---------------------------------------------------------------------------------------------------------- screen tree
# The screen's walk over the syntax tree.  Every node is visited by a rule for the place that it stands in.
#
# Three places have rules of their own: the module's statements; expressions that run when the module is imported
# (constants, defaults, annotations, arguments of decorators); and the bodies of functions, which cuda.tile or Triton
# compiles, but of which it may evaluate parts (`ct.static_eval`; in Triton names, attributes, calls with constants).


LONGEST_STRING: Final = 16 * 1024
MOST_ELEMENTS: Final = 4096
"""Of a list, tuple, set or dictionary that is written out."""
LONGEST_NAME: Final = 200

_BODY: Final = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Return, ast.Expr, ast.Pass, ast.Break,
    ast.Continue, ast.Assert,
)  # fmt: skip
_EXPRESSIONS: Final = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.FormattedValue,
    ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp, ast.Name, ast.Slice, ast.Starred,
    ast.Subscript, ast.Tuple, ast.UnaryOp,
)  # fmt: skip
_IMPORT_TIME: Final = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.IfExp, ast.List, ast.Name,
    ast.Subscript, ast.Tuple, ast.UnaryOp,
)  # fmt: skip
_CONFIGURATIONS: Final = (*_IMPORT_TIME, ast.ListComp)
"""What configurations of ``@triton.autotune`` may be written with."""
_TILE: Final = "cuda.tile"
_TRITON: Final = "triton"


class Screen:
    """Collects reasons; one object for one source."""

    def __init__(self) -> None:
        self._found: list[Reason] = []
        self._modules: dict[str, str] = {}
        self._imported: dict[str, tuple[str, str]] = {}
        self._defined: set[str] = set()
        self._functions: set[str] = set()
        self._jitted: set[str] = set()
        self._dataclasses: set[str] = set()
        self._fields: set[str] = set()
        self._kind = ""
        self._integers: dict[str, int] = {}
        self._hints = Hints(frozenset(), frozenset(), self._qualified, self._is_pure)

    def reasons(self, tree: ast.Module) -> Iterable[Reason]:
        """Everything that is wrong with the module."""
        names = Counter(module_names(tree))
        self._defined = set(names)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        self._functions = {node.name for node in functions}
        self._fields = {name for node in tree.body if isinstance(node, ast.ClassDef) for name in bound_names(node.body)}
        for statement in tree.body:  # wherever they stand: a hint may be evaluated after all of the module has run
            if isinstance(statement, ast.Import):
                self._import(statement)
            elif isinstance(statement, ast.ImportFrom):
                self._import_from(statement)
        self._jitted = {node.name for node in functions if self._kind_of(node) == _TRITON}
        self._hints = hints_of(tree, names, self._qualified, self._is_pure)
        for position, statement in enumerate(tree.body):
            self._module_statement(statement, first=position == 0)
        return self._found

    # ------------------------------------------------------------------------------------------- modules
    def _module_statement(self, node: ast.stmt, *, first: bool) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                pass  # looked at before
            case ast.Expr(value=ast.Constant(value=str() as text)):
                self._string(node, text)
                if not first:
                    self._refuse(node, "module-statement", "a string that is no docstring stands between definitions")
            case ast.Assign(targets=targets, value=value):
                self._constant(targets, value)
            case ast.AnnAssign(target=target, annotation=annotation, value=value, simple=1) if value is not None:
                self._annotation(annotation)
                self._constant([target], value)
            case ast.FunctionDef():
                self._function(node)
            case ast.ClassDef():
                self._class(node)
            case ast.Pass():
                pass
            case _:
                what = type(node).__name__
                self._refuse(
                    node, "module-statement", f"a statement that runs on import ({what}); write constants and functions"
                )

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name not in MODULES or alias.name == "__future__":
                self._refuse(node, "import", no_import(alias.name))
            elif alias.asname is None and "." in alias.name:
                self._modules[alias.name] = alias.name
                top = alias.name.partition(".")[0]
                if top in MODULES:
                    self._import_as(node, top, top)
                    self._modules[top] = top
            else:
                self._import_as(node, name, alias.name)
                self._modules[name] = alias.name

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if node.level or node.module is None:
                self._refuse(node, "import", "a submission is one file: it has no neighbours to import")
            elif f"{node.module}.{alias.name}" in MODULES:
                self._import_as(node, name, f"{node.module}.{alias.name}")
                self._modules[name] = f"{node.module}.{alias.name}"
            elif node.module not in MODULES:
                self._refuse(node, "import", no_import(node.module))
            elif alias.name not in MODULES[node.module]:
                self._refuse(node, "import", not_listed(node.module, alias.name, "imported"))
            else:
                self._import_as(node, name, (node.module, alias.name))
                self._imported[name] = (node.module, alias.name)

    def _import_as(self, node: ast.AST, name: str, what: str | tuple[str, str]) -> None:
        self._identifier(node, name)
        before = self._modules.get(name) or self._imported.get(name)
        if name in self._defined or before not in (None, what):
            self._refuse(node, "rebinding", f"the imported name '{short(name)}' is bound twice")

    def _constant(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            for name in target_names(target):
                if name is None:
                    self._refuse(target, "module-statement", "only names may be assigned at module level")
                else:
                    self._bound(target, name)
        if self._are_configurations(value):
            self._configurations(value)
            return
        for inner in ast.walk(value):
            # A string bound to a name could be an annotation, and annotations are evaluated.
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str | bytes):
                self._refuse(inner, "module-string", "a string is bound to a name of the module")
        self._import_time(value)
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            name = targets[0].id
            try:
                known = integer_value(value, self._integers)
            except TooLarge:
                known = None  # told where the expression stands
            if known is None or name in self._integers:
                self._integers.pop(name, None)
            else:
                self._integers[name] = known

    def _bound(self, node: ast.AST, name: str) -> None:
        """A name that a statement of the module binds.  Until it has run, the builtin of that name is what others see:
        ``eval = eval`` would make an own name of it."""
        self._identifier(node, name)
        if hasattr(builtins, name):
            self._refuse(node, "rebinding", f"the builtin '{name}' is bound to something else")

    def _class(self, node: ast.ClassDef) -> None:
        self._bound(node, node.name)
        kinds = [self._qualified(called(each)) for each in node.decorator_list]
        if kinds != [("dataclasses", "dataclass")]:
            self._refuse(node, "class", f"the class '{short(node.name)}' is no plain @dataclass")
        if node.bases or node.keywords:
            self._refuse(node, "class", f"the class '{short(node.name)}' has bases or keywords")
        self._no_type_parameters(node)
        fields = frozenset(bound_names(node.body))
        for decorator in node.decorator_list:
            self._decorator(decorator)
        self._dataclasses.add(node.name)
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    self._identifier(statement, name)
                    self._annotation(annotation, fields)
                    if value is not None:
                        self._import_time(value)
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    self._string(statement, text)
                case ast.Pass():
                    pass
                case _:
                    self._refuse(
                        statement, "class", "a dataclass holds fields alone, no methods and no other statements"
                    )

    # ----------------------------------------------------------------------------------------- functions
    def _kind_of(self, node: ast.FunctionDef) -> str:
        """Who compiles a function of the module: `_TRITON` with ``@triton.jit``, else `_TILE`."""
        jitted = any(self._qualified(called(each)) == JIT for each in node.decorator_list)
        return _TRITON if jitted else _TILE

    def _function(self, node: ast.FunctionDef, outer: frozenset[str] = frozenset()) -> None:
        self._identifier(node, node.name)
        self._no_type_parameters(node)
        for decorator in node.decorator_list:
            self._decorator(decorator)
        if outer and node.decorator_list:
            self._refuse(node, "decorator", "a function inside a function has a decorator")
        signature = node.args
        for argument in arguments(signature):
            self._identifier(argument, argument.arg)
            if argument.annotation is not None:
                self._annotation(argument.annotation)
        if node.returns is not None:
            self._annotation(node.returns)
        for default in (*signature.defaults, *signature.kw_defaults):
            if default is not None:
                self._import_time(default)
        local = outer | {argument.arg for argument in arguments(signature)} | set(bound_names(node.body)) | {node.name}
        if not outer:
            self._kind = self._kind_of(node)
        for statement in node.body:
            self._body(statement, frozenset(local))
        if not outer:
            self._kind = ""

    def _body(self, node: ast.stmt, local: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef):
            self._function(node, local)
            return
        if not isinstance(node, _BODY):
            what = type(node).__name__
            self._refuse(node, "statement", f"the statement {what} has no place in a kernel or helper")
            return
        if isinstance(node, ast.AnnAssign):
            self._annotation(node.annotation)
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.AnnAssign) and name == "annotation":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    self._body(child, local)
                elif isinstance(child, ast.expr):
                    self._expression(child, local, _EXPRESSIONS)

    def _decorator(self, node: ast.expr) -> None:
        qualified = self._qualified(called(node))
        if qualified not in DECORATORS:
            self._refuse(node, "decorator", no_decorator(qualified))
        if qualified == ("tileverify", "launch") and (not isinstance(node, ast.Call) or node.args):
            # With positional arguments it is a launch, not the description of one.
            self._refuse(node, "decorator", "@tileverify.launch takes the fields of a launch spec, by name alone")
        if not isinstance(node, ast.Call):
            return
        self._arguments_of_triton(node)
        if qualified in (JIT, AUTOTUNE):
            for text in names_alone(node):
                self._refuse(text, "decorator", "a string in a decorator of Triton is the name of a parameter")
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if qualified == AUTOTUNE and self._are_configurations(value):
                self._configurations(value)
            else:
                self._import_time(value)

    def _arguments_of_triton(self, call: ast.Call) -> None:
        for place, sentence in argument_problems(self._qualified(call.func), call):
            self._refuse(place, "decorator", sentence)

    def _are_configurations(self, value: ast.expr) -> bool:
        match value:
            case ast.List(elts=elements) if elements:
                return all(self._are_configurations(each) for each in elements)
            case ast.ListComp(elt=element):
                return self._are_configurations(element)
            case ast.Call(func=function):
                return self._qualified(function) == CONFIG
        return False

    def _configurations(self, value: ast.expr) -> None:
        """A list of ``triton.Config``, or a comprehension of some; names that it binds hide nothing."""
        for inner in ast.walk(value):
            if isinstance(inner, ast.comprehension):
                for name in target_names(inner.target):
                    if name is None or name in {*self._defined, *self._modules, *self._imported}:
                        self._refuse(inner.target, "rebinding", "a comprehension binds what has another meaning")
                    else:
                        self._bound(inner.target, name)
            if isinstance(inner, ast.Call):
                for text in names_alone(inner):
                    self._refuse(text, "decorator", "a string in a configuration is the name of a parameter")
        self._import_time(value, _CONFIGURATIONS)

    # --------------------------------------------------------------------------------------- expressions
    def _annotation(self, node: ast.expr, hidden: frozenset[str] = frozenset()) -> None:
        """``hidden``: fields of the class that the annotation stands in, which its names find first."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str | bytes):
                self._refuse(inner, "string-annotation", "an annotation in quotes is evaluated; write it without them")
        for part in self._hints.strange(node, hidden):
            self._refuse(
                part, "annotation", "an annotation is a listed name, a subscript of one, or a name bound once to one"
            )
        self._import_time(node)

    def _no_type_parameters(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        """Bounds and defaults of ``def f[T: bound]`` (Python 3.12) are expressions that are evaluated later."""
        for parameter in getattr(node, "type_params", ()):
            self._refuse(parameter, "type-parameter", "type parameters have no place in a kernel or helper")

    def _import_time(self, node: ast.expr, allowed: tuple[type[ast.expr], ...] = _IMPORT_TIME) -> None:
        """An expression that runs when the module is imported: constants, and calls that have no effect."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and not self._is_pure(inner.func):
                self._refuse(inner, "import-call", "a call that would run when the module is imported")
            elif isinstance(inner, ast.Call):
                self._arguments_of_triton(inner)
            if isinstance(inner, ast.Name) and inner.id in self._functions:
                # What takes it could call it: key=, default_factory=.
                self._refuse(
                    inner, "import-call", f"the function '{short(inner.id)}' is passed on when the module is imported"
                )
        self._expression(node, frozenset(), allowed)

    def _is_pure(self, function: ast.expr) -> bool:
        qualified = self._qualified(function)
        if qualified is not None:
            return qualified[1] in PURE_CALLS.get(qualified[0], frozenset())
        if isinstance(function, ast.Name):
            own = function.id in self._defined
            return function.id in self._dataclasses or (not own and function.id in CONSTANT_CALLS)
        return False

    def _expression(self, node: ast.expr, local: frozenset[str], allowed: tuple[type[ast.expr], ...]) -> None:
        if not isinstance(node, allowed):
            what = type(node).__name__
            self._refuse(node, "expression", f"the expression {what} has no place here")
            return
        match node:
            case ast.Name():
                self._name(node, local)
            case ast.Attribute():
                self._attribute(node, local)
                if self._qualified(node) is not None:
                    return
            case ast.Call() if is_impure_assembly(self._qualified(node.func), node):
                self._refuse(node, "inline-assembly", "inline assembly has to be pure, and to say so: is_pure=True")
            case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict():
                self._literal(node)
            case ast.BinOp():
                self._arithmetic(node)
            case ast.Lambda():
                self._lambda(node, local, allowed)
                return
            case ast.ListComp() | ast.GeneratorExp():
                self._comprehension(node, local, allowed)
                return
        for child in operands(node):
            self._expression(child, local, allowed)

    def _lambda(self, node: ast.Lambda, local: frozenset[str], allowed: tuple[type[ast.expr], ...]) -> None:
        """Defaults are evaluated where the lambda stands: they do not see its parameters."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._expression(default, local, allowed)
        names = [argument.arg for argument in arguments(node.args)]
        for name in names:
            self._identifier(node, name)
        self._expression(node.body, local | set(names), allowed)

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, local: frozenset[str], allowed: tuple[type[ast.expr], ...]
    ) -> None:
        """What the first ``for`` runs over is evaluated outside: it does not see the names that are bound inside."""
        first, *others = node.generators
        self._expression(first.iter, local, allowed)
        bound = (name for each in node.generators for name in target_names(each.target) if name is not None)
        inside = local | set(bound)
        conditions = (condition for each in node.generators for condition in each.ifs)
        targets = (each.target for each in node.generators)
        for part in (node.elt, *targets, *conditions, *(each.iter for each in others)):
            self._expression(part, inside, allowed)

    def _name(self, node: ast.Name, local: frozenset[str]) -> None:
        name = node.id
        self._identifier(node, name)
        if isinstance(node.ctx, ast.Store) or name in local:
            return
        self._of_its_kind(node, name)
        if name in self._defined:
            return
        if name in self._modules:
            self._refuse(node, "module-value", f"the module '{self._modules[name]}' is used as a value")
            return
        if name in self._imported or name in BUILTINS:
            return
        if hasattr(builtins, name):
            self._refuse(node, "builtin", f"the builtin '{name}' may not be named")
        else:
            self._refuse(node, "name", f"nothing defines the name '{short(name)}'")

    def _attribute(self, node: ast.Attribute, local: frozenset[str]) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._refuse(node, "attribute", "attributes may not be assigned")
        self._identifier(node, node.attr)
        if node.attr.startswith("_"):
            self._refuse(node, "attribute", f"the attribute '{short(node.attr)}' begins with an underscore")
        elif node.attr in INTROSPECTION:
            self._refuse(node, "attribute", f"the attribute '{node.attr}' leads to the interpreter's insides")
        qualified = self._qualified(node)
        if qualified is not None:
            self._of_its_kind(node, node.attr)
            if qualified[1] not in MODULES[qualified[0]]:
                self._refuse(node, "module-name", not_listed(*qualified, "named"))
        elif self._is_tritons() and node.attr not in (TRITON_ATTRIBUTES if self._kind else self._known_attributes()):
            self._refuse(node, "attribute", f"the attribute '{short(node.attr)}' is none of a value in a Triton kernel")

    def _is_tritons(self) -> bool:
        """Whether an expression may meet objects of Triton: in its kernels, and beside them."""
        return self._kind == _TRITON or (not self._kind and "triton" in {*self._families()})

    def _families(self) -> Iterator[str]:
        named = (*self._modules.values(), *(module for module, _ in self._imported.values()))
        yield from (module.partition(".")[0] for module in named)

    def _known_attributes(self) -> frozenset[str]:
        return TRITON_ATTRIBUTES | self._fields

    def _of_its_kind(self, node: ast.expr, name: str) -> None:
        """Refuse what the compiler of the function around ``node`` does not know: a name of the other language, or a
        function of the other kind."""
        qualified = self._qualified(node)
        if qualified is not None:
            family = qualified[0] if qualified[0] == _TILE else qualified[0].partition(".")[0]
            if self._kind == _TRITON and family == _TILE:
                sentence = f"'{short(name)}' belongs to cuda.tile: a kernel of @triton.jit speaks triton.language"
                self._refuse(node, "mixed-languages", sentence)
            elif self._kind == _TILE and family == _TRITON:
                sentence = f"'{short(name)}' belongs to Triton, and this function has no @triton.jit"
                self._refuse(node, "mixed-languages", sentence)
        elif self._kind == _TRITON and name in self._functions - self._jitted:
            self._refuse(node, "mixed-languages", f"a Triton kernel cannot call '{short(name)}': it has no @triton.jit")
        elif self._kind == _TILE and name in self._jitted:
            self._refuse(node, "mixed-languages", f"'{short(name)}' is Triton's, and this function has no @triton.jit")

    def _qualified(self, node: ast.expr) -> tuple[str, str] | None:
        """(module, name) for ``ct.load`` and for names that were imported from a module."""
        if isinstance(node, ast.Name):
            return None if node.id in self._defined else self._imported.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._module_of(node.value)
            return None if owner is None else (owner, node.attr)
        return None

    def _module_of(self, node: ast.expr) -> str | None:
        """The module that ``ct`` or ``tl.math`` is."""
        name = dotted(node)
        if name is not None and name not in self._defined and name in self._modules:
            return self._modules[name]
        if isinstance(node, ast.Attribute):
            outer = self._module_of(node.value)
            inner = f"{outer}.{node.attr}"
            return inner if outer is not None and inner in MODULES else None
        return None

    def _arithmetic(self, node: ast.BinOp) -> None:
        try:
            integer_value(node, self._integers)
        except TooLarge:
            self._refuse(node, "literal-size", f"a constant with more than {MOST_BITS} bits")
        if isinstance(node.op, ast.Mult) and any(is_sequence(side) for side in (node.left, node.right)):
            self._refuse(node, "literal-size", "a sequence is repeated")

    def _literal(self, node: ast.Constant | ast.List | ast.Tuple | ast.Dict) -> None:
        match node:
            case ast.Constant(value=str() as text):
                self._string(node, text)
            case ast.Constant(value=bytes()):
                self._refuse(node, "literal", "kernels have no use for bytes")
            case ast.Constant(value=int() as number) if number.bit_length() > MOST_BITS:
                self._refuse(node, "literal-size", f"a constant with more than {MOST_BITS} bits")
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Dict(values=elements):
                if len(elements) > MOST_ELEMENTS:
                    self._refuse(node, "literal-size", f"a literal has more than {MOST_ELEMENTS} elements")

    def _string(self, node: ast.AST, text: str) -> None:
        if len(text) > LONGEST_STRING:
            self._refuse(node, "literal-size", f"a string has more than {LONGEST_STRING} characters")
        hidden = hidden_in_literal(text)
        if hidden is not None:
            self._refuse(node, "control-character", f"a string holds {hidden}")

    def _identifier(self, node: ast.AST, name: str) -> None:
        if not name.isascii() or len(name) > LONGEST_NAME:
            self._refuse(node, "identifier", f"the name '{short(name)}' is not ASCII, or too long")
        elif name.startswith("__"):
            self._refuse(node, "dunder", f"the name '{short(name)}' begins with two underscores")

    def _refuse(self, node: ast.AST, id_: str, message: str) -> None:
        self._found.append(Reason(id_, message, getattr(node, "lineno", None), getattr(node, "col_offset", None)))
