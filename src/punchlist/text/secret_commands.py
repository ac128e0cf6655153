"""Secrets that are known by the program that takes them, or by the words before them: `mysql -p`, `login`, SQL."""

from typing import Final

Row = tuple[str, tuple[str, ...], str]
"""A character that every match has in it, or none; what the lower-cased text has to hold, one of these; and a pattern
whose first group stays, while what comes behind it is the secret; its group `way`, if it has one, has to be of a single
command. A character is found in no time, and most texts have
few of these; what has none is looked for in every text, so its signs are rare ones."""

FREE: Final = r"""(?:(?<![\w-])|(?<=["'\n]-)|(?<=\A-)|(?<=\\n)|(?<=\\n-))"""
"""Where a program's name may begin: not within another, but behind the `-` of a line that a change took out."""

_QUOTE: Final = r"""(?P<quote>\\{0,3}["'])?"""
_INSIDE: Final = r"(?:(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++"
"""What stands behind a quote, up to the one that closes it."""

_REST: Final = r"""(?:"(?:[^"\\\n]|\\.)*+" | '[^'\n]*+' | [^\n|;&"'`])++"""
"""All that comes behind, to the end of the command; a quoted text is a part of it, whatever it has in it."""

_BLANKS: Final = r"(?:\s|\\{1,3}[nt]){1,16}"


def _given(head: str, before: str = "") -> str:
    """What is given to a program, whole where it is in quotes; `before` is what the quotes hold before the secret."""
    bare = r"""(?:\\[^\n]|[^\s"'\\])++"""
    if before:
        bare = rf"""(?: \\{{0,3}}"[^"\n]++"? | \\{{0,3}}'[^'\n]++'? | {bare} )"""
    return rf"""({head}{_QUOTE}{before})(?(quote){_INSIDE}|{bare})"""


_CURL: Final = FREE + r"(?:curl|wget|https?)\b(?P<way>[^\n|]{0,400}?)"
_CURLS: Final = ("curl", "wget", "http ", "https ")
_TAKERS: Final = (
    r"--password-stdin|--with-token|sudo\b[^\n|]{0,80}?[ ]-\w{0,8}S|(?<!/etc/)passwd(?![\w.])|--passphrase-fd"
)
"""What reads a secret from its input."""

_LOGINS: Final = "cargo[ ]login|wandb[ ]login|vault[ ]login|ngrok[ ]authtoken|snyk[ ]auth"
_PROSE: Final = r"""(?:and|or|to|with|in|is|was|first|before|again|failed)\b
    | (?:commands?|calls?|steps?|page|fails|works|needs|succeeded)\b(?![^\n]{0,200}\d)"""
_SPOKEN: Final = ("passw",)

ROWS: Final[tuple[Row, ...]] = (
    (
        "-",
        _CURLS,
        _given(rf"{_CURL}[ \t](?:-u|-U|--user|--proxy-user|-a|--auth)[ \t=]{{0,4}}", r"""[^\s:"']{1,128}:"""),
    ),
    ("-", _CURLS, _given(rf"{_CURL}[ \t](?:-b|--cookie)[ \t=]{{0,4}}", r"""(?=[^\s"'=]{1,256}=)""")),
    (
        "-",
        (" -p",),
        _given(
            FREE
            + r"""(?:mysql\w*|mariadb\w*|mongo\w*|sshpass|7z\w?|(?:un)?zip
                |(?<![/.])login(?![/.])|twine|sqlcmd|bcp|useradd|usermod)\b
            (?P<way>[^\n|]{0,400}?)[ \t]-(?:p|P)[ \t=]{0,2}""",
            r"(?![-\s])",
        ),
    ),
    (
        "-",
        ("-cli",),
        _given(FREE + r"(?:redis|valkey|keydb)-cli\b(?P<way>[^\n|]{0,400}?)[ \t](?:-a|--pass)[ \t=]{1,4}"),
    ),
    ("-", ("pass:",), _given(FREE + r"--?pass\w{0,16}[ \t=]{1,4}", "pass:")),
    ("-", ("openssl",), _given(FREE + r"openssl\b(?P<way>[^\n|]{0,400}?)[ \t]-k[ \t]{1,4}")),
    ("-", ("ldap",), _given(FREE + r"ldap\w++(?P<way>[^\n|]{0,400}?)[ \t]-w[ \t]{1,4}")),
    ("-", ("ssh-keygen",), _given(FREE + r"ssh-keygen\b(?P<way>[^\n|]{0,400}?)[ \t]-[NP][ \t]{0,4}")),
    (
        "-",
        ("--from-literal",),
        rf"""((?P<quote>["'])--from-literal[ \t=]{{1,4}}[^\s="']{{1,128}}=){_INSIDE}""",
    ),
    ("-", ("--from-literal",), _given(r"--from-literal[ \t=]{1,4}", r"""[^\s="']{1,128}=""")),
    (
        "-",
        ("secret",),
        _given(FREE + r"secrets?\b(?P<way>[^\n|]{0,400}?)[ \t](?:-b|--body|--value|--plaintext)[ \t=]{1,4}"),
    ),
    (
        "=",
        ("secret",),
        rf"""({FREE}secrets?[ \t:]{{1,8}}set(?:[ \t]{{1,8}}-[\w-]{{1,32}}(?:[ \t=][^\s"'=]{{1,128}})?){{0,8}}
        [ \t]{{1,8}}["']?\w{{1,128}}=)(?!["']?\$){_REST}""",
    ),
    (
        "-",
        ("htpasswd",),
        rf"""({FREE}htpasswd(?=[^\n]{{0,80}}?[ \t]-\w{{0,8}}b)(?:[ \t]{{1,8}}-\w{{1,16}}){{1,8}}
        [ \t]{{1,8}}[^\s"']{{1,256}}[ \t]{{1,8}}){_REST}""",
    ),
    (
        "|",
        ("stdin", "--with-token", "sudo", "passwd", "-fd"),
        rf"""({FREE}(?:echo|printf)[ \t]{{1,8}}(?:-\w{{1,8}}[ \t]{{1,8}}){{0,2}}
        (?:\\{{0,3}}["']?%[^\s"'\\]{{1,16}}(?:\\{{1,3}}n)?\\{{0,3}}["']?[ \t]{{1,8}})?+)
        (?!\\{{0,3}}["']?\$)(?:\\{{0,3}}"[^"\n]{{0,512}}" | '[^'\n]{{0,512}}' | [^\s|"'])
        (?:\\{{0,3}}"[^"\n]{{0,512}}" | '[^'\n]{{0,512}}' | [^\n|"']){{0,512}}?
        (?=[ \t]{{0,8}}\|(?P<way>[^\n]{{0,200}}?(?:{_TAKERS})))""",
    ),
    (
        "",
        ("<<<",),
        _given(rf"(?:{_TAKERS}|\b(?:secret|login|auth)\b)[^\n|]{{0,200}}?<<<[ \t]{{0,8}}", r"(?![\s$])"),
    ),
    (
        "",
        ("cargo login", "wandb login", "ault login", "ngrok authtoken", "snyk auth"),
        rf"""({FREE}(?:{_LOGINS})(?![ \t]{{1,8}}(?:{_PROSE}))
        (?:[ \t]{{1,8}}--?\w[\w-]{{0,32}}(?:=[^\s"']{{0,128}})?){{0,4}}[ \t]{{1,8}})
        (?!["']?\$|-){_REST}""",
    ),
    (
        "",
        ("smbclient", "sqlplus"),
        _given(
            FREE
            + r"""(?:smbclient\b(?P<way>[^\n|]{0,400}?)[ \t](?:-U|--user)[ \t=]{0,4}
            | sqlplus(?:[ \t]{1,8}-\w{1,8}){0,4}[ \t]{1,8})""",
            r"""[^\s%/"']{1,128}[%/]""",
        ),
    ),
    (
        "",
        _SPOKEN,
        rf"""((?:
            (?:\bmachine{_BLANKS}[^\s"'\\]{{1,256}}{_BLANKS}|\bdefault{_BLANKS}|(?:\A|\n|\\n)[ \t]{{0,16}})
            (?:(?:login|account){_BLANKS}[^\s"'\\]{{1,256}}{_BLANKS}){{1,2}}password{_BLANKS}
          | {FREE}(?:mysqladmin|nmcli)\b(?P<way>[^\n|]{{0,400}}?)[ \t]password[ \t]{{1,8}}
        ){_QUOTE})(?(quote){_INSIDE}|(?![\s-])(?:\\[^\n]|[^\s"'\\])++)""",
    ),
    (
        "",
        _SPOKEN,
        r"""((?i:\bpassword
        (?:[ \t]{1,8}for[ \t]{1,8}[^\s=:]{1,128}[ \t]{0,8}[:=]|[ \t]{1,8}(?:is|was):?)?[ \t(]{1,8})
        (?P<quote>\\{0,3}["'])(?![\s,)\]}]))(?:(?P=quote){2}|(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++""",
    ),
    (
        "",
        _SPOKEN,
        r"""((?i:\bpassword[ \t]{1,8}(?:is|was):?[ \t]{1,8}))
        (?=[^\s"'\d]{0,64}\d)(?=[^\s"'a-zA-Z]{0,64}[a-zA-Z])[^\s"']{6,}+""",
    ),
    (
        "",
        ("identified by", "passw"),  # `IDENTIFIED WITH mysql_native_password BY` as well
        r"""((?i:identified\s{1,8}(?:with\s{1,8}\S{1,64}\s{1,8})?(?:by|as)\s{1,8}(?:password\s{1,8})?)
        (?P<quote>\\{0,3}["']))(?:(?P=quote){2}|(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++""",
    ),
    (
        "",
        ("identified by",),
        r"""((?i:\b(?:create|alter|grant)\b[^\n]{0,200}?\bidentified\s{1,8}by\s{1,8}))(?![\s"'\\])[^\s"';]++""",
    ),
)
