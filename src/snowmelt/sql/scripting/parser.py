"""Blocks to nodes, by recursive descent over the statement parser's tokens."""

from __future__ import annotations

from collections.abc import Callable

from snowmelt.core import errors
from snowmelt.sql.scripting import declarations, nodes
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText, Token, TokenKind, starts_block, statement_end

MAX_DEPTH = 80
"""Blocks, loops and branches inside each other."""

_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})
_ASYNCHRONOUS = frozenset({"ASYNC", "AWAIT", "CANCEL"})
_MIDDLE = frozenset({"END", "ELSE", "ELSEIF", "WHEN", "THEN", "UNTIL", "EXCEPTION", "DO"})
"""Words that never begin a statement."""


def parse_block(text: SqlText) -> nodes.Block:
    """An anonymous block: `[DECLARE …] BEGIN … END`. Raises a syntax error for anything else."""
    parser = ScriptParser(text)
    block = parser.block()
    parser.cursor.done()
    return block


def parse_body(text: SqlText) -> nodes.Block:
    """A procedure's body: a block, or one statement of SQL with its semicolon."""
    parser = ScriptParser(text)
    cursor = parser.cursor
    if starts_block(cursor.tokens, 0):
        return parse_block(text)
    if cursor.at_end:
        raise errors.empty_statement()
    if cursor.at_any(_STATEMENTS):
        raise cursor.unexpected()
    line, position = parser.position(cursor.peek())
    statement = parser.statement()
    cursor.expect(";")
    cursor.done()
    return nodes.Block(line, position, (), (statement,))


class ScriptParser:
    def __init__(self, text: SqlText) -> None:
        self.cursor = TokenCursor(text)
        self.depth = 0

    def position(self, token: Token) -> tuple[int, int]:
        return self.cursor.source.position(token.start)

    # -- blocks -------------------------------------------------------------------------------------------------------

    def block(self) -> nodes.Block:
        cursor = self.cursor
        line, position = self.position(cursor.peek())
        declared: list[nodes.Declaration] = []
        self._deeper()
        if cursor.match("DECLARE"):
            while not cursor.at("BEGIN"):
                declared.append(declarations.declaration(self, value_needed=False))
                cursor.expect(";")
        cursor.expect("BEGIN")
        body = self.statements("END", "EXCEPTION")
        handlers: list[nodes.Handler] = []
        if cursor.match("EXCEPTION"):
            while cursor.at("WHEN"):
                handlers.append(self._handler())
            if not handlers:
                raise cursor.unexpected()
        cursor.expect("END")
        self.depth -= 1
        return nodes.Block(line, position, tuple(declared), body, tuple(handlers))

    def _handler(self) -> nodes.Handler:
        cursor = self.cursor
        cursor.expect("WHEN")
        names = [cursor.identifier()]
        while cursor.match("OR"):
            names.append(cursor.identifier())
        continues = cursor.match("CONTINUE")
        if not continues:
            cursor.match("EXIT")
        cursor.expect("THEN")
        return nodes.Handler(tuple(names), "CONTINUE" if continues else "EXIT", self.statements("WHEN", "END"))

    def statements(self, *stops: str) -> nodes.Statements:
        """Statements, each with its semicolon, up to one of the words. An empty list is a syntax error there."""
        found: list[nodes.Statement] = []
        while not found or not self.cursor.at_any(stops):
            if self.cursor.at_any(stops) or self.cursor.at_kind(TokenKind.END):
                raise self.cursor.unexpected()
            found.append(self.statement())
            self.cursor.expect(";")
        return tuple(found)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise errors.compilation("000913", "54001", f"Blocks are nested more than {MAX_DEPTH} deep.")

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> nodes.Statement:
        cursor = self.cursor
        token = cursor.peek()
        if starts_block(cursor.tokens, cursor.index):
            return self.block()
        if token.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.peek(1).word == ":=":
            return self._assignment()
        if token.word in _ASYNCHRONOUS and cursor.peek(1).word != ".":
            raise errors.unsupported(token.word)
        if token.word in _MIDDLE:
            raise cursor.unexpected()
        special = _STATEMENTS.get(token.word)
        if special is None:
            return self._sql()
        line, position = self.position(token)
        cursor.advance()
        self._deeper()
        found = special(self, line, position)
        self.depth -= 1
        return found

    def _assignment(self) -> nodes.Assignment:
        cursor = self.cursor
        line, position = self.position(cursor.peek())
        name = cursor.identifier()
        cursor.expect(":=")
        if cursor.at("ASYNC"):
            raise errors.unsupported("ASYNC")
        return nodes.Assignment(line, position, name, cursor.until())

    def _let(self, line: int, position: int) -> nodes.Declaration:
        found = declarations.declaration(self, value_needed=True)
        if isinstance(found, nodes.VariableNode):
            # Unlike in DECLARE, the position is that of the word LET.
            return nodes.VariableNode(line, position, found.name, found.type, found.value)
        return found

    def _if(self, line: int, position: int) -> nodes.If:
        cursor = self.cursor
        branches = [self._branch("ELSEIF", "ELSE", "END")]
        while cursor.match("ELSEIF"):
            branches.append(self._branch("ELSEIF", "ELSE", "END"))
        otherwise = self.statements("END") if cursor.match("ELSE") else ()
        cursor.expect("END", "IF")
        return nodes.If(line, position, tuple(branches), otherwise)

    def _branch(self, *stops: str) -> nodes.Branch:
        condition = self._condition("THEN")
        self.cursor.expect("THEN")
        return nodes.Branch(condition, self.statements(*stops))

    def _condition(self, *stops: str) -> SqlText:
        """A condition in parentheses, which Snowflake asks for."""
        if not self.cursor.at("("):
            raise self.cursor.unexpected()
        return self.cursor.until(*stops)

    def _case(self, line: int, position: int) -> nodes.Case:
        cursor = self.cursor
        subject = None if cursor.at("WHEN") else self._condition("WHEN")
        branches: list[nodes.Branch] = []
        while cursor.match("WHEN"):
            condition = cursor.until("THEN")
            cursor.expect("THEN")
            branches.append(nodes.Branch(condition, self.statements("WHEN", "ELSE", "END")))
        if not branches:
            raise cursor.unexpected()
        otherwise = self.statements("END") if cursor.match("ELSE") else ()
        cursor.expect("END")
        cursor.match("CASE")
        return nodes.Case(line, position, subject, tuple(branches), otherwise)

    # -- loops --------------------------------------------------------------------------------------------------------

    def _for(self, line: int, position: int) -> nodes.ForRange | nodes.ForRows:
        cursor = self.cursor
        name = cursor.identifier()
        cursor.expect("IN")
        reverse = cursor.match("REVERSE")
        start = cursor.index
        first = cursor.until("TO", "DO", "LOOP")
        if cursor.match("TO"):
            last = cursor.until("DO", "LOOP")
            body, label = self._loop_body("FOR")
            return nodes.ForRange(line, position, name, first, last, reverse, body, label)
        if reverse:
            raise cursor.unexpected()
        stop = cursor.index
        cursor.index = start
        source, query = None, None
        if cursor.at("("):
            query = cursor.inside()
        else:
            source = cursor.identifier()
        if cursor.index != stop:
            raise cursor.unexpected()
        body, label = self._loop_body("FOR")
        return nodes.ForRows(line, position, name, source, query, body, label)

    def _loop_body(self, word: str) -> tuple[nodes.Statements, str | None]:
        """`DO … END FOR [label]` or `LOOP … END LOOP [label]`."""
        opened = self.cursor.expect_any(("DO", "LOOP"))
        body = self.statements("END")
        self.cursor.expect("END", word if opened == "DO" else "LOOP")
        return body, self._label()

    def _label(self) -> str | None:
        return None if self.cursor.at_end else self.cursor.identifier()

    def _while(self, line: int, position: int) -> nodes.While:
        condition = self._condition("DO", "LOOP")
        body, label = self._loop_body("WHILE")
        return nodes.While(line, position, condition, body, label)

    def _repeat(self, line: int, position: int) -> nodes.Repeat:
        body = self.statements("UNTIL")
        self.cursor.expect("UNTIL")
        until = self._condition("END")
        self.cursor.expect("END", "REPEAT")
        return nodes.Repeat(line, position, body, until, self._label())

    def _loop(self, line: int, position: int) -> nodes.Loop:
        body = self.statements("END")
        self.cursor.expect("END", "LOOP")
        return nodes.Loop(line, position, body, self._label())

    def _break(self, line: int, position: int) -> nodes.Leave:
        return nodes.Leave(line, position, again=False, label=self._label())

    def _continue(self, line: int, position: int) -> nodes.Leave:
        return nodes.Leave(line, position, again=True, label=self._label())

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _return(self, line: int, position: int) -> nodes.Return:
        cursor = self.cursor
        if cursor.at_end:
            return nodes.Return(line, position, None)
        if cursor.at("TABLE", "("):
            cursor.advance()
            return nodes.Return(line, position, None, cursor.inside())
        return nodes.Return(line, position, cursor.until())

    def _raise(self, line: int, position: int) -> nodes.Raise:
        return nodes.Raise(line, position, self._label())

    def _null(self, line: int, position: int) -> nodes.Nothing:
        return nodes.Nothing(line, position)

    def _open(self, line: int, position: int) -> nodes.Open:
        name = self.cursor.identifier()
        using = self.cursor.expression_list() if self.cursor.match("USING") else ()
        return nodes.Open(line, position, name, using)

    def _fetch(self, line: int, position: int) -> nodes.Fetch:
        name = self.cursor.identifier()
        self.cursor.expect("INTO")
        return nodes.Fetch(line, position, name, self._targets())

    def _close(self, line: int, position: int) -> nodes.Close:
        return nodes.Close(line, position, self.cursor.identifier())

    def _targets(self) -> tuple[str, ...]:
        """`:a, :b`; the colons may be left out."""
        found: list[str] = []
        while not found or self.cursor.match(","):
            self.cursor.match(":")
            found.append(self.cursor.identifier())
        return tuple(found)

    def sql_text(self) -> SqlText:
        """A statement of SQL as written, up to its semicolon."""
        cursor = self.cursor
        start = cursor.index
        cursor.index = statement_end(cursor.tokens, start)
        return cursor.since(start)

    def _sql(self) -> nodes.SqlNode:
        cursor = self.cursor
        start = cursor.index
        line, position = self.position(cursor.peek())
        stop = statement_end(cursor.tokens, start)
        into = self._into(start, stop) if cursor.at_any(("SELECT", "WITH")) else None
        if into is None:
            return nodes.SqlNode(line, position, self.sql_text())
        cursor.index = into + 1
        targets = self._targets()
        text = cursor.source.sql.text
        first, last = cursor.tokens[start].start, cursor.tokens[stop - 1].end
        cut, resume = cursor.tokens[into].start, cursor.tokens[cursor.index - 1].end
        cursor.index = stop
        # One space goes with the clause, and all other positions stay: errors point into the text that runs.
        kept = text[first : cut - text[cut - 1].isspace()] + text[resume:last]
        return nodes.SqlNode(line, position, SqlText(kept, line, position), targets)

    def _into(self, start: int, stop: int) -> int | None:
        """The INTO of SELECT … INTO, outside all parentheses."""
        depth = 0
        for index in range(start, stop):
            word = self.cursor.tokens[index].word
            if word in _OPENING:
                depth += 1
            elif word in _CLOSING:
                depth -= 1
            elif word == "INTO" and depth == 0 and self.cursor.tokens[index - 1].word != ".":
                return index
        return None


_STATEMENTS: dict[str, Callable[[ScriptParser, int, int], nodes.Statement]] = {
    "LET": ScriptParser._let,
    "IF": ScriptParser._if,
    "CASE": ScriptParser._case,
    "FOR": ScriptParser._for,
    "WHILE": ScriptParser._while,
    "REPEAT": ScriptParser._repeat,
    "LOOP": ScriptParser._loop,
    "BREAK": ScriptParser._break,
    "EXIT": ScriptParser._break,
    "CONTINUE": ScriptParser._continue,
    "ITERATE": ScriptParser._continue,
    "RETURN": ScriptParser._return,
    "RAISE": ScriptParser._raise,
    "NULL": ScriptParser._null,
    "OPEN": ScriptParser._open,
    "FETCH": ScriptParser._fetch,
    "CLOSE": ScriptParser._close,
}
