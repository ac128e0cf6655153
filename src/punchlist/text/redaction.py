"""Mask secrets in text that is shown or stored: keys, tokens, passwords, private keys.

Rules, each over the whole text: shapes of tokens; addresses, key blocks and headers; the words of command lines;
tables; values by the name before them. Too much is masked rather than too little. The work is linear in the text, and
masking twice changes nothing.
"""

import json
import re
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, cast

from punchlist.text.patterns import compile_later
from punchlist.text.shell import CommandList, ListEntry, Pipeline, SimpleCommand, parse, walk

MARK: Final = "***"
"""The mark that replaces a secret."""

_MOST_PASSES: Final = 6
"""Passes until nothing changes any more: a mask may turn what stands beside it into the value of another name."""

_DEEPEST: Final = 4
"""Texts in quotes within texts in quotes that are read."""

_CLOSE: Final = 32
_NEAR: Final = 256
_FAR: Final = 4096
"""Characters before a name, and behind a quote or tag for what closes it, that are looked at."""

Span = tuple[int, int]
Secrecy = Literal["sure", "assigned", "likely", "none"]
"""How secret the value of a name is: always; where it is assigned or a field; if it looks random; not at all."""


def redact(text: str, own: re.Pattern[str] | None = None) -> str:
    """Return the text with `***` for each secret in it, and for each match of the user's own pattern."""
    if own is not None:
        text = own.sub(lambda found: MARK if found[0] else "", text)
    for _ in range(_MOST_PASSES):
        masked = _mask(text, 0)
        if masked == text:
            break
        text = masked
    return text


def redact_value(value: Any, own: re.Pattern[str] | None = None, name: str = "") -> Any:
    """Return a value of JSON without secrets: its texts are redacted, and a field with a secret name is masked."""
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {
            redact(key, own) if isinstance(key, str) else key: redact_value(inner, own, str(key))
            for key, inner in fields.items()
        }
    if isinstance(value, list | tuple):
        return [redact_value(inner, own, name) for inner in cast("list[Any]", value)]
    if value is None or isinstance(value, bool):
        return value
    how = secrecy(name)
    if how == "sure" and not (isinstance(value, str) and is_reference(value)):
        return MARK
    if how in ("assigned", "likely") and isinstance(value, str) and looks_secret(value):
        return MARK
    return redact(value, own) if isinstance(value, str) else value


def _mask(text: str, depth: int) -> str:
    if _is_ordinary(text):
        return text
    if '"' in text and depth < _DEEPEST:
        text = _STRING.sub(lambda found: _mask_string(found[0], depth), text)
    if "-----" in text:
        text = _END_OF_KEY.sub(MARK, _KEY_BLOCK.sub(MARK, text))
    text = _LONG_WORD.sub(lambda found: _TOKEN.sub(MARK, found[0]), text)
    for phrase_signs, pattern in _PHRASES:
        if any(sign in text for sign in phrase_signs):
            text = pattern.sub(rf"\g<1>{MARK}", text)
    text = _replace(text, _command_spans(text))
    names = _find_secret_names(text)
    return _replace(text, _table_spans(text, names) + _named_spans(text, names))


# The first look. Most texts hold no secret, and these tests, at the speed of C, say so.


def _blank_all_but(kept: str) -> bytes:
    """Return a table for `bytes.translate` that keeps letters, digits and these characters, and blanks the rest."""
    plain = frozenset(code for code in range(128) if chr(code).isalnum() or chr(code) in kept)
    return bytes(code if code in plain else 32 for code in range(256))


_LONG_WORDS: Final = _blank_all_but("_.~$+/=-")
_NAMES: Final = _blank_all_but("_.-")
_PARTS: Final = _blank_all_but("_")
_ONE_WORD: Final = compile_later(r"[A-Za-z0-9_./-]*+")
_LONG: Final = 14
"""Characters of the shortest token that has a shape."""


def _is_ordinary(text: str) -> bool:
    """True if nothing in a text can be a secret."""
    if _ONE_WORD.fullmatch(text) is not None and "hook" not in text and "/bot" not in text:  # a name, a path, an id
        return len(text) < _LONG or _TOKEN.search(text) is None
    plain = text.encode("ascii", "replace")
    if b"\\" in plain:
        if b"\\u00" in plain:  # an escaped letter may hide any word
            return False
        plain += b" " + plain.replace(b"\\n", b" ").replace(b"\\r", b" ").replace(b"\\t", b" ")
    words = set(plain.translate(_LONG_WORDS).split())
    parts = set(b" ".join(words).translate(_PARTS).split())
    return not (
        any(sign in plain for sign in _SIGNS)
        or not _SIGN_PARTS.isdisjoint(parts)
        or _find_secret_names(b" ".join(parts).decode())
        or any(_TOKEN.search(word.decode()) for word in words if len(word) >= _LONG)
        or _PORT_AND_LOGIN.search(text) is not None
    )


class _SecretName(NamedTuple):
    """A name in a text whose value may be a secret. `is_option`: it stands behind dashes."""

    start: int
    end: int
    text: str
    how: Secrecy
    is_option: bool


def _find_secret_names(text: str) -> list[_SecretName]:
    blanked = text.encode("ascii", "replace").translate(_NAMES)
    lowered = blanked.lower()
    names: set[_SecretName] = set()
    for sign in _NAME_SIGNS:
        at = lowered.find(sign)
        while at >= 0:
            first = blanked.rfind(b" ", 0, at) + 1
            end = blanked.find(b" ", at)
            end = len(blanked) if end < 0 else end
            word = text[first:end].lstrip("-.")
            how = secrecy(word)
            if how != "none":
                names.add(_SecretName(end - len(word), end, word, how, text[first] == "-"))
            at = lowered.find(sign, end)
    return sorted(names)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _replace(text: str, spans: list[Span]) -> str:
    """Return the text with a mask for each of these spans. They may overlap."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if end > done:
            pieces += (text[done:start], MARK if start >= done else "")
            done = end
    return "".join((*pieces, text[done:])) if pieces else text


# Strings of JSON, shapes, addresses, headers.

# `(?>(?:…)+)`, not `(?:…)++`, here and below: Python before 3.11.5 matches a possessive group wrongly.
_STRING: Final = compile_later(r'"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)(?:"|\Z|(?=\n)|\\\Z)')
"""A string of JSON, or one that nothing closes: it is passed over, so that each character is read once."""


def _mask_string(literal: str, depth: int) -> str:
    if "\\" not in literal and " " not in literal:
        return literal
    try:
        inner = json.loads(literal, strict=False)
    except ValueError:
        return literal
    masked = _mask(inner, depth + 1)
    return literal if masked == inner else json.dumps(masked, ensure_ascii=False)


_KEY_BLOCK: Final = compile_later(
    r"-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_END_OF_KEY: Final = compile_later(r"\A(?s:.*)-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONG_WORD: Final = compile_later(r"[A-Za-z0-9_.~$+/=-]{14,}+")
_TOKEN: Final = compile_later(
    r"""(?<![A-Za-z0-9])(?:
      eyJ[\w-]{5,2048}+\.[\w-]{2,}(?:\.[\w-]*)*                                         # JSON web token
    | (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{12,} | ABSK[\w+/=]{32,}  # AWS
    | (?:gh[pousr]|github_pat|hf|r8|npm|gsk|ntn|sbp|lin_api|rubygems|shp(?:at|ss|ca|pa)|do[opr]_v1|glsa)_\w{16,}
    | (?:sk|xai|pplx|tvly|pypi|figd|PMAK|HRKU|key|nvapi|GOCSPX)[-_][\w.-]{16,}
    | gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|ffct)-[\w.-]{16,} | (?:xox[a-z]|xapp|tskey|dckr_pat)[-_][\w.-]{8,}
    | [rsp]k_(?:live|test)_\w{8,} | whsec_[\w+/=]{8,} | AIza[\w-]{24,} | ya29\.[\w-]{8,} | 1//0[\w-]{20,}
    | SG\.[\w-]{8,256}+\.[\w-]{8,} | SK[0-9a-f]{32} | hv[sbr]\.[\w-]{16,} | dapi[0-9a-f]{32}
    | dp\.(?:pt|st|ct|sa)\.\w{8,} | ATATT[\w=-]{16,} | secret_\w{32,} | sntry[su]_[\w=+/-]{16,}
    | pscale_[a-z]{2,8}_[\w.-]{8,} | AGE-SECRET-KEY-1\w{8,} | ops_eyJ[\w=-]{8,} | [\w~.]{3}[78]Q~[\w.~-]{30,}
    | [MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,} | EAA[\w.-]{60,}                    # Discord, Facebook
    | \$(?:[156y]|2[abxy]|apr1|argon2\w{1,2}|scrypt|pbkdf2[\w-]*)\$[\w./+=$,-]{12,}  # hashes of passwords
    )[\w+/=-]*""",
    re.VERBOSE | re.ASCII,
)
_PORT_AND_LOGIN: Final = compile_later(r":(?:\d{3,5}|\*):[^\s:]{1,128}:[^\s:]{1,128}:[^\s]")


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _end_of_quote(text: str, start: int, quote: str) -> int:
    """Return where this quote closes, if that is near; else the end of the line."""
    for found in _QUOTE.finditer(text, start, start + _FAR):
        if found[0] == quote or (len(quote) == 1 and len(found[0]) % 2 and found[0].endswith(quote)):
            return found.end() - len(quote)
    return _end_of_line(text, start)


_QUOTE: Final = compile_later(r"""\\*["'`]""")
_QUOTED: Final = r"""(?P<q>\\{0,3}["'])(?>(?:(?!(?P=q))(?:\\.|[^\n])|(?P=q){2})+)"""
_HOOKS: Final = r"hooks\.slack\.com/\w+|/api/webhooks|office\.com/webhook\w*|hooks\.zapier\.com/hooks|/bot(?=\d{6})"
_USER: Final = r"""[^\s"'<>`/?@:\[]"""
_PHRASES: Final = tuple(
    (signs.split("|"), compile_later(pattern, re.VERBOSE | re.MULTILINE))
    for signs, pattern in (
        ("hook|/bot", rf"""((?:{_HOOKS})/?)[^\s"'<>]++"""),
        (":AA", r"(?<!\d)(\d{8,12}:)AA[\w-]{20,}+"),  # Telegram
        ("earer|asic|igest|EARER|oken ", r"""((?<![\w-])(?i:bearer|basic|digest|token)[ \t]{1,8})(?=[^\s"',;]{8})
            (?=[^\s"',;]{0,200}?(?:\d|=|[a-z][A-Z]))[\w.~+/=:-]++(?![(\w])"""),
        ("@tcp(|@unix(|:thin:", r"""([\w.-]{1,64}:(?=[^\s"'`]{1,256}@(?:tcp|unix)\()|:thin:[\w$.-]{1,64}/)
            [^\s"'`@]{1,256}(?=@)"""),
        ("assword", r"""((?:^|\bmachine\s{1,8}\S{1,256}\s{1,8}|\bdefault\s{1,8})\s{0,8}
            (?:(?:login|account)\s{1,8}\S{1,256}\s{1,8}){1,2}password\s{1,8})\S++"""),  # .netrc
        ("assw|ASSW", rf"""((?i:\bpassword
            (?:[ \t]{{1,8}}(?:is|was)\b:?|[ \t]{{1,8}}for[ \t][^\s=:]{{1,128}}[ \t]{{0,8}}[:=])?)[ \t(]{{1,8}})
            (?:{_QUOTED}|(?=[^\s"'\d]{{0,64}}\d)(?=[^\s"'a-zA-Z]{{0,64}}[a-zA-Z])(?<![(])[^\s"']{{6,}}+)"""),
        ("assword ", r"""((?i:password)[ \t][\w @'".-]{1,80}:[ \t]{1,4})
            (?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z])\S{8,}+$"""),
        ("dentified |DENTIFIED ", rf"""((?i:identified\s{{1,8}}(?:with\s{{1,8}}\S{{1,64}}\s{{1,8}})?(?:by|as)\s{{1,8}}
            (?:password\s{{1,8}})?))(?:{_QUOTED}|(?<=BY[ ])[^\s"']++|(?=\S{{0,64}}\d)[^\s"';]++)"""),
        ("://", rf"""((?<=://))(?={_USER}{{16}}|{_USER}{{0,9}}(?:[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d))
            {_USER}{{8,256}}+(?=@|:[^\s/]{{0,256}}@)"""),  # a token in place of a user's name
        ("://", rf"""((?<=://){_USER}{{0,256}}+:)(?!\d{{1,5}}[/?\#]|\$\{{?\w+\}}?@|[{{<][\w\ .-]+[}}>]@)
            (?:(?!://)[^\s"'<>`]){{1,2048}}(?=@(?!sha256:))"""),
        ("@", r"""((?<![\w/:.@-])[\w.-]{1,64}:)[^\s:/@"'`]{1,128}(?=@[\w.-]{1,128}:\d{2,5}\b)"""),
        (":", r"""((?:^|["'])[^\s:/"']{1,128}:(?:\d{3,5}|\*):[^\s:]{1,128}:[^\s:]{1,128}:)(?!\s)
            (?>(?:\\[^"']|[^\n"'\\])+)"""),  # .pgpass
        ("send ", r"""(\bsend[ \t]{1,4}(?:--[ \t])?")[^"\n$]{1,128}(?=\\[rn]")"""),  # expect
        ("= Data =", r"(^[a-z][\w.-]{1,63}[ \t]{2,})[^\s:=|][^\n]*+"),  # Vault: all below is secret
        ("AUTH |auth ", r"((?<=\S)>[ \t]{1,4}(?i:auth)[ \t]{1,4})\S[^\n]*+"),  # a prompt of Redis
    )
)  # fmt: skip
"""Signs that a text must contain, and a pattern: its first group stays, the rest of the match is the secret."""


# Command lines.

_CHOSEN: Final = r"(?s).+"
_ISSUED: Final = r"(?![a-z-]+[.,:]?\Z|\W).{4,}"
"""A password that a person chose; a token that a service issued, which is no plain word."""

_NEXT: Final = False
_REST: Final = True

_RULES: Final[dict[str, list[tuple[str, str, bool]]]] = {}
"""By program or subcommand: an option or verb, the words that are secrets, and if all words behind it may be one.

An option has its secret in its own word or in the next.
"""

for _programs, _trigger, _value, _is_verb in (
    ("curl", r"-[a-zA-Z]*[uUb]|--(?:(?:proxy-)?user|cookie)(?:=|\Z)", r"[^\s]*[:=].+", _NEXT),
    ("wget http https xh", r"-a\Z|--(?:auth|user)(?:=|\Z)", r".*:.+", _NEXT),
    ("lftp smbclient rpcclient winexe smbget smbmap", r"-[uU]|--user(?:=|\Z)", r".*[,%:].+", _NEXT),
    ("mysql mysqldump mysqladmin mysqlimport mysqlsh mariadb mariadb-dump", r"-p(?=.)", _CHOSEN, _NEXT),
    ("7z 7za 7zr rar unrar", r"-h?p(?=.)", _CHOSEN, _NEXT),
    ("sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport", "-p", _CHOSEN, _NEXT),
    ("login twine useradd usermod rdesktop evil-winrm hydra ncftp ncftpput ncftpget", r"-p\Z", _CHOSEN, _NEXT),
    ("zip unzip sqlcmd bcp tsql isql mosquitto_pub mosquitto_sub ipmitool ssh-keygen", r"-[NP]", _CHOSEN, _NEXT),
    ("redis-cli valkey-cli keydb-cli redis-benchmark", r"-a\Z", _CHOSEN, _NEXT),
    ("plink pscp psftp putty", r"-pw\Z", _CHOSEN, _NEXT),
    ("openssl", r"-(?:k|K|pass\w*)\Z", r"(?!file:|env:|fd:|stdin).+", _NEXT),
    ("ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami security", r"-[ws]\Z", _CHOSEN, _NEXT),
    ("snmpwalk snmpget snmpset", r"-[AX]\Z", _CHOSEN, _NEXT),
    ("xfreerdp wfreerdp cmdkey", "/p(?:ass)?:", _CHOSEN, _NEXT),
    ("secret secrets secretsmanager put-parameter", r"(?:-b|--(?:body|value|plaintext|data))(?:=|\Z)", _CHOSEN, _NEXT),
    ("secret", r"--from-literal(?:=|\Z)", _CHOSEN, _NEXT),
    ("secret secrets secrets:set kv", r"(?:.*set|put|create|add|patch|update|import)\Z", r"[^=]+=(?!\$).+", _REST),
    ("redis-cli valkey-cli keydb-cli", r"(?i)(?:auth|requirepass|masterauth)\Z", _CHOSEN, _REST),
    ("htpasswd mosquitto_passwd", r"-[A-Za-z]*b[A-Za-z]*\Z", _CHOSEN, _REST),
    ("mysqladmin nmcli", r"(?:password|.*\.psk)\Z", _CHOSEN, _REST),
    ("rabbitmqctl", r"(?:change_password|add_user|authenticate_user)\Z", _CHOSEN, _REST),
    ("openssl wpa_passphrase keyctl", r"(?:passwd|wpa_passphrase|padd|add)\Z", _CHOSEN, _REST),
    ("cargo wandb vault ngrok snyk bw rclone", r"(?:login|auth|(?:add-)?authtoken|unlock|obscure)\Z", _ISSUED, _REST),
    ("ConvertTo-SecureString", "ConvertTo-SecureString", r"(?![|;]).+", _REST),
    ("sqlplus expdp impdp sqlldr rman", r"(?:sqlplus|expdp|impdp|sqlldr|rman)\Z", r"[^/\s]+/.+", _REST),
    ("net net.exe", r"user?\Z", r"(?!\\\\|\w:$|/).*[^a-z].*", _REST),
):  # fmt: skip
    for _program in _programs.split():
        _RULES.setdefault(_program, []).append((_trigger, _value, _is_verb))

_STORES_INPUT: Final = compile_later(
    r"""--password-stdin|--with-token|-fd\b|-stdin\b|--stdin\b|/dev/stdin|\bsudo\b.{0,99}\s-\w*S
    |(?<![/\w.])\w*passwd(?![\w.])|\bsecrets?[ :]|\bsecret-tool\b|\bansible-vault\b|\bpass\ (?:insert|add)\b|\bluks
    |\bcryptsetup\b|\blogin\ -|\bauth\ login\b|-generic-password\b|\bkubeseal\b|\benv\ add\b|\bkeyring\ set\b
    |\bvault\ (?:write|kv|login)\b|\bbase64\ .{0,99}-(?:d|D|-decode)\b""",
    re.VERBOSE,
)
"""Commands that take a secret from their input."""

_ECHOES: Final = frozenset({"echo", "printf", "Write-Output"})
_READERS: Final = _words("grep egrep rg ag ack sed awk jq yq tee cat head tail wc sort cut tr less")
"""Programs whose arguments may sound secret, while they only read what is piped into them."""

_COMMAND_WORDS: Final = _ECHOES.union(_RULES)
_SIGN_PARTS: Final = frozenset(
    max(re.split("[:.-]", word), key=len).encode() for word in _COMMAND_WORDS - {"http", "https"}
) | frozenset(
    b"hooks webhooks office send basic Basic BASIC digest Digest DIGEST identified Identified IDENTIFIED".split()
)
_SIGNS: Final = (b"@", b"-----", b"/bot", b":AA", b"<<", b"http ", b"https ")
"""Words of commands and phrases, and other signs, of secrets without a secret name."""

_GLUED: Final = compile_later(r"""(?:&\w[^\s"'&;|]*)*""")
_NO_ECHO: Final = compile_later(r"-\w{1,3}|%\S{1,8}|echo|y|yes|no?")
_LOOSE_WORD: Final = compile_later(r"\w[\w.:+-]*")
_LINE: Final = compile_later(r"(?:[^\n\\]|\\(?:\n|(?=.)|\Z)){1,16000}")
_KEYWORD: Final = compile_later(r"""\b(?:for|select|case|function)\b|(?<=://)[^\s"'`|]+""")
_HERE: Final = compile_later(
    r"""<<<[ \t]{0,8}(?P<string>"[^"\n]*+"|'[^'\n]*+'|[^\s;|&`]++)
    |<<-?[ \t]{0,4}["']?(?P<end>\w++)["']?[^\n]*\n""",
    re.VERBOSE,
)


def _command_spans(text: str) -> list[Span]:
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        spans += _line_spans(line[0], line.start(), 0)
        if "<<" in line[0]:
            spans += _here_spans(text, line)
    return spans


def _line_spans(line: str, at: int, depth: int) -> list[Span]:
    """Find the secrets in a line that begins at this place, and in quoted words of it as lines of their own."""
    words = set(_LOOSE_WORD.findall(line))
    is_piped = not _ECHOES.isdisjoint(words) and ("|" in line or ">" in line)
    if not is_piped and words.isdisjoint(_RULES):
        return []
    # Comments and lists of words are read as commands too, and so is what stands in backticks; addresses are one word.
    readable = _KEYWORD.sub(lambda word: "_" * len(word[0]), line.replace("#", "_").replace("`", ";"))
    spans: list[Span] = []
    for node in walk(parse(readable)):
        if isinstance(node, Pipeline):
            spans += _piped_spans(node, line)
        if not isinstance(node, SimpleCommand):
            continue
        spans += _spans_of_words(node, line)
        for (start, end), word in zip(node.spans, node.words, strict=True):
            inner = line[start:end].lstrip("\"'")
            if depth < _DEEPEST and (" " in word or "\t" in word) and len(inner) < len(line):
                spans += _line_spans(inner.rstrip("\"'}]),"), min(end, len(line)) - len(inner), depth + 1)
    # A password with `&` in it that nobody quoted: the shell ends the command there, but the rest is no command.
    ends = [(start, _GLUED.match(line, min(end, len(line)))) for start, end in spans]
    return [(at + start, at + glued.end()) for start, glued in ends if glued is not None]


def _spans_of_words(command: SimpleCommand, line: str) -> list[Span]:
    """Find the words of one command that are secrets, by the programs and subcommands among the words before them."""
    found: list[Span] = []
    rules: dict[tuple[str, str, bool], None] = {}
    secret_words = "(?!)"
    for place, word in enumerate(command.words):
        start, end = command.spans[place]
        if word[:1] != "-" and _is_secret_word(secret_words, word):
            found.append((start, end))
        name = re.split("/bin/|=", word)[-1]
        name = name.lstrip("-+") if place == 0 else name  # a line that a change took out, or added
        rules.update(dict.fromkeys(_RULES.get(name, ())))
        for trigger, value, is_verb in rules:
            given = re.match(trigger, word)
            following = command.words[place + 1 : place + 2]
            if given is None:
                continue
            if is_verb:
                secret_words = value
            elif given.end() < len(word) and _is_secret_word(value, word[given.end() :]):
                found.append((start + given.end() if line.startswith(given[0], start) else start, end))
            elif given[0] == word and following and following[0][:1] != "-" and _is_secret_word(value, following[0]):
                found += command.spans[place + 1 : place + 2]
    written = [each.target.rpartition("/")[2] for each in command.redirects if each.operator.endswith(">")]
    if any(secrecy(name) == "sure" for name in written):
        found += _echoed_spans(command)
    return found


def _is_secret_word(pattern: str, word: str) -> bool:
    return re.fullmatch(pattern, word) is not None and not is_reference(word)


def _piped_spans(pipeline: Pipeline, line: str) -> list[Span]:
    """Find what is echoed into a command that takes a secret from its input, or encodes what may be one."""
    found: list[Span] = []
    is_stored = is_encoded = False
    for part in reversed(pipeline.parts):
        for command in walk(CommandList((ListEntry(part),))):
            if not isinstance(command, SimpleCommand) or not command.words:
                continue
            spans = _echoed_spans(command) if is_stored or is_encoded else []
            for start, end in spans:
                if is_stored or ":" in line[start:end] or looks_secret(line[start:end]):
                    found.append((start, end))
            is_encoded |= command.words[0] == "base64"
            is_stored |= command.words[0] not in _READERS and _STORES_INPUT.search(" ".join(command.words)) is not None
    return found


def _echoed_spans(command: SimpleCommand) -> list[Span]:
    if _ECHOES.isdisjoint(command.words[:3]):
        return []
    pairs = list(zip(command.words, command.spans, strict=True))[1:]
    return [span for word, span in pairs if not _NO_ECHO.fullmatch(word) and not is_reference(word)]


def _here_spans(text: str, line: re.Match[str]) -> list[Span]:
    """Find the here-string or here-document of a command that takes a secret from its input."""
    if _STORES_INPUT.search(line[0]) is None:
        return []
    spans: list[Span] = []
    for found in _HERE.finditer(text, line.start(), line.end() + 1):
        if found["string"] is not None and not is_reference(found["string"]):
            spans.append(found.span("string"))
        elif found["end"] is not None:
            closed = re.compile(rf"^\s*{found['end']}$", re.MULTILINE).search(text, found.end(), found.end() + _FAR)
            spans.append((found.end(), min(len(text), found.end() + _FAR) if closed is None else closed.start()))
    return spans


# Tables.

_ROW: Final = compile_later(  # a version, a title or a rule is no secret
    r"""(?:[ \t]*[|│][ \t]*|[ \t]{2,}|\t)(?!(?:v?\d+(?:\.\w+)+|[A-Z][a-z]+|-+)(?:\s|\Z))
    (?P<value>[^\s|│=:][^\s|│]*)(?=[ \t]*(?:[|│\n]|\Z))""",
    re.VERBOSE,
)
_CELL: Final = compile_later(r"""["\s]*(?:[A-Za-z][\w.-]{0,40}(?: [\w.-]{1,40})?)?["\s]*""")
_RULE: Final = compile_later(r"[-+=|: ┼─│]+")


def _table_spans(text: str, names: list[_SecretName]) -> list[Span]:
    """Find the values of secret names in two columns, and columns below a secret name."""
    spans: list[Span] = []
    done = 0
    for name in names:
        if name.how != "sure":
            continue
        before = text[max(0, name.start - _NEAR) : name.start].rpartition("\n")[2]
        row = None if before.strip(" \t|│") else _ROW.match(text, name.end)
        if row is not None and not is_reference(row["value"]):
            spans.append(row.span("value"))
        if name.start >= done:
            columns, done = _column_spans(text, name.start, done)
            spans += columns
    return spans


def _column_spans(text: str, name: int, done: int) -> tuple[list[Span], int]:
    """Find the cells below the secret names in the line of this name, if it is a table's head, and its last line."""
    end = _end_of_line(text, name)
    head = text[text.rfind("\n", done, name) + 1 : end] if end - name < _FAR else ""
    separator = next((each for each in "|\t," if each in head), "")
    if not separator or (separator == "," and " " in head):
        return [], end
    cells = head.split(separator)
    secret = [place for place, cell in enumerate(cells) if secrecy(cell.strip(' "').replace(" ", "_")) == "sure"]
    if not all(_CELL.fullmatch(cell) for cell in cells):
        return [], end
    spans: list[Span] = []
    while end < len(text):
        start, end = end + 1, _end_of_line(text, end + 1)
        row = text[start:end].split(separator)
        if len(row) != len(cells):
            if _RULE.fullmatch(text, start, end):
                continue
            return spans, start - 1
        for place in secret:
            if row[place].strip() and not _RULE.fullmatch(row[place]):
                begin = start + sum(len(cell) + 1 for cell in row[:place])
                spans.append((begin, begin + len(row[place])))
    return spans, end


# Values by the name before them.

_SIGN: Final = r"""(?::{2,3}=|:=|[=!]==?|=>|=~(?=\s)|<[>-]|-[ci]?(?:eq|ne)\b|(?:\|\||&&|\?\?|[?+.|&])?=
    |:[ ]{0,2}[A-Za-z_&*][\w&.,\[\]<>| ]{0,40}[ ]=(?=[ ]{0,2}["'])|::?)"""
_BETWEEN: Final = rf"""
    (?:(?P<close>\\{{0,3}}["'`])\]?)?(?P<gap>[^\S\n]{{0,32}})(?P<sign>{_SIGN})(?P<after>[^\S\n]{{0,32}})
    | \\{{0,3}}["']?(?:,\s{{0,32}}|\s{{1,32}})\\{{0,3}}["']?(?i:value)\\{{0,3}}["']?[^\S\n]{{0,8}}[:=][^\S\n]{{0,8}}
    | (?P<pair>\\{{0,3}}["'])[^\S\n]{{0,8}},\s{{0,8}}(?=\\{{0,3}}["'])"""
_BEHIND_NAME: Final = compile_later(rf"{_BETWEEN} | (?P<tag>(?:\s[^<>]{{0,256}}(?<!/))?>)", re.VERBOSE)
_BEHIND_OPTION: Final = compile_later(
    rf"{_BETWEEN} | (?P<tag>(?!)) | [^\S\n]{{1,8}}(?:<<<[^\S\n]{{0,8}})?(?![\s|&;<>)\]=:]|--)", re.VERBOSE
)
"""Signs between a name and its value: a sign, the middle of a pair, the end of a tag; a blank for an option."""

_SETTER: Final = compile_later(
    r"""(?:^|[\s"'+-])(?:setx?|setenv|config(?:ure)?|put|env:set|ENV|ARG)
    (?:[ ]{1,8}--?\w[\w-]{0,64})*[ ]{1,8}[^\s=]*\Z""",
    re.VERBOSE,
)
"""Commands that are followed by a name and its value, in separate words."""

_SET_VALUE: Final = compile_later(r"""[^\n;|&"']+""")
_MASKED: Final = compile_later(r"""\*{3}(?:\n|\Z|["'](?=[\s,;:)}\]]))""")
_BELOW: Final = compile_later(r"(?:[|>][-+]?)?[^\S\n]*(?:\n[^\S\n]++(?!(?:-[ ])?[\w.-]{1,128}:(?:\s|\Z))[^\n]+)+")
_BARE: Final = compile_later(r"""(?>(?:\\.|[^\s"'\\]|"[^"\s]*"|'[^'\s]*')+)|\\""")
_TAG: Final = compile_later(r"(?<!\w)<(?:\w{1,16}:)?\Z")
_BRACKET: Final = compile_later(r"""\\.|["'\[\](){}]""")
_PLACE: Final = compile_later(r":(?::[Tt]est|[ ]?\d{1,6}(?:[:-]\d{1,6})?[:.]?(?=\s|\\|[\"',;)\]}]+(?:\s|\Z)|\Z))")
_MATCHED_LINE: Final = compile_later(r"[\w.-]{1,128}\.\w{1,5}:\d{1,6}[:-]\S")
_FILE_NAME: Final = compile_later(r".*\.[a-z]\w{0,3}")
_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
"""Headers whose value is all that the line has behind them."""

_VALUE_QUOTE: Final = compile_later(r"""[fbru@$]{0,2}(\\{0,3}["'`])""")
_FOLLOWING: Final = compile_later(r"""[\s+.,(]{0,4}["']?([^\s"',;)}\]]++)""")
_CONNECTION: Final = compile_later(r"""[^;"'\n=]{0,256};[A-Za-z][A-Za-z ]{0,31}=""")
_END_OF_CONNECTION: Final = compile_later(r"""[;"'\n]""")
_IN_CONNECTION: Final = compile_later(r"(?:\A|[;\s\"'])[A-Za-z][A-Za-z ]{0,31}=[^;=\n]{0,200};[ ]?\Z")
_LINE_START: Final = compile_later(r"""[\s<>+*-]*["']?""")
_SCRIPT: Final = compile_later(r"""(?:[\s"']-\w{0,4}c|(?:command|cmd|script)\\{0,3}["'][ \t]{0,8}:)[ \t]{0,8}\Z""")
_NO_NAME: Final = compile_later(
    r"(?:\b(?:type|interface|class|struct|enum|def|fn|func|function)|(?i:\b(?:invalid|unexpected|unknown|illegal|bad|missing)))\s\Z"
)
_ANNOTATION: Final = compile_later(r"[A-Za-z_.]+(?:\[[\w, .|]*\])?[ ](?:\|[ ]None|=[ ])")
_IDENTIFIER: Final = compile_later(r"[A-Za-z_][A-Za-z_.]*(?:\(\))?[:,;)]*")
_CALL: Final = compile_later(r"[A-Za-z_][A-Za-z_.]*[(<]")


def _named_spans(text: str, names: list[_SecretName]) -> list[Span]:
    """Find values behind secret names, also where such a name is itself the value of another."""
    spans: list[Span] = []
    done = 0
    for name in names:
        is_set = text[name.end : name.end + 1] == " " and _SETTER.search(
            text, max(done, name.start - _NEAR), name.start
        )
        head = (_BEHIND_OPTION if name.is_option or is_set else _BEHIND_NAME).match(text, name.end)
        if head is None or head.end() <= done or _MASKED.match(text, head.end()) is not None:
            continue
        how = "likely" if head["sign"] == "::" else name.how
        if how == "likely" and not looks_secret(text[head.end() : head.end() + _NEAR]):
            continue
        span = _value_span(text, name, head, done) if head["tag"] is None else _element_span(text, name, head.end())
        if span is not None and _is_secret_value(name.text, head, how, text[slice(*span)], span[0]):
            spans.append(span)
            done = span[1]
    return spans


def _is_secret_value(name: str, head: re.Match[str], how: Secrecy, value: str, start: int) -> bool:
    """True if a value is a secret, by the name and the sign before it."""
    sign = head["sign"] or ""
    if len(value) < 2 or re.search(r"\w", value) is None or is_reference(value):
        return False
    is_label = sign == ":" and not head["close"] and name.lower() not in _HEADERS
    if how == "likely" or head["pair"] or (how == "assigned" and is_label):
        return looks_secret(value[:_NEAR])
    if how == "assigned" and re.fullmatch(r"[\d.,:%]+[)}\]]*", value):
        return False
    is_comparison = sign != "" and sign not in ("=", ":", "=>", "<-", ":=", "::")
    if is_comparison and start == head.end() and _IDENTIFIER.fullmatch(value):
        return False
    if head["gap"] and head["after"] and _CALL.match(value):
        return False
    is_variable = re.fullmatch(r"[A-Za-z_]+[,;)\]]*", value) is not None and secrecy(value) == "sure"
    return not is_variable or (name.isupper() and sign == "=" and not value.isupper())


def _value_span(text: str, name: _SecretName, head: re.Match[str], done: int) -> Span | None:
    """Return where the value behind a name stands, without its quotes."""
    start, sign, lowered = head.end(), head["sign"], name.text.lower()
    near = text[max(done, name.start - _NEAR) : name.start].rstrip("-")
    is_plain = sign == ":" and not head["close"]
    if _PLACE.match(text, name.end) is not None and _FILE_NAME.fullmatch(name.text) is not None:
        return None
    is_doubtful = _MATCHED_LINE.match(text, name.start) is not None or _NO_NAME.search(near[-_CLOSE:]) is not None
    if is_doubtful and not looks_secret(text[start : start + _NEAR].partition(" ")[0]):
        return None
    is_first = sign == ":" and _LINE_START.fullmatch(near.rpartition("\n")[2]) is not None
    if is_first and (below := _BELOW.match(text, start)) is not None:
        return below.span()
    opened = _open_quote(near) if sign and not head["close"] else None
    quoted = _VALUE_QUOTE.match(text, start)
    if quoted is not None and quoted[1] == opened:  # it closes the quote before the name: `rg "token=" src`
        following = _FOLLOWING.match(text, quoted.end())
        return following.span(1) if following is not None and looks_secret(following[1]) else None
    if quoted is not None:
        return quoted.end(), _end_of_quote(text, quoted.end(), quoted[1])
    if text[start : start + 1] in ("[", "{", "("):
        return start, _end_of_bracket(text, start)
    first = re.split(r"\s|\\+[nrt]", text[start : start + _NEAR], maxsplit=1)[0]
    if first[:1] in ("", "|") or (is_plain and _ANNOTATION.match(text, start)):
        return None
    if is_reference(first) and not first.startswith(MARK):  # behind a mask there may be more of the value
        return None
    is_name = first.isidentifier() and _MIXED.search(first) is None and secrecy(first) == "sure"
    if head["gap"] and head["after"] and is_name:
        return None  # another variable
    if lowered == "pwd" and re.match(r"[~.]{0,2}/|[A-Za-z]:[\\/]", first):
        return None
    if not name.is_option and text[name.end : start].isspace():  # `set NAME value`; `set token budget` may be prose
        is_prose = near[-1:].isspace() and name.text.isalpha() and name.text.islower()
        following = None if is_prose and not re.fullmatch(_ISSUED, first) else _SET_VALUE.match(text, start)
        return None if following is None else following.span()
    if opened is not None and _SCRIPT.search(near.rsplit(maxsplit=1)[0][-_CLOSE:] if " " in near else "") is None:
        return start, _end_of_quote(text, start, opened)
    is_in_connection = near.rstrip(" ").endswith(";") and _IN_CONNECTION.search(near) is not None
    if is_in_connection or _CONNECTION.match(text, start):
        ending = _END_OF_CONNECTION.search(text, start)
        return start, len(text) if ending is None else ending.start()
    if is_plain and head["after"] and (is_first or lowered in _HEADERS):
        return start, _end_of_line(text, start)
    bare = _BARE.match(text, start)
    return None if bare is None else bare.span()


def _open_quote(near: str) -> str | None:
    """Return the last quote in the word right before a name that no other closes."""
    word = "" if not near or near[-1].isspace() else near.rsplit(maxsplit=1)[-1]
    opened: list[str] = []
    for found in _QUOTE.findall(word):
        opened = opened[: opened.index(found)] if found in opened else [*opened, found]
    return opened[-1] if opened else None


def _element_span(text: str, name: _SecretName, start: int) -> Span | None:
    """Return the text between two tags, or behind one if the other is missing; a type in `<…>` has none."""
    if _TAG.search(text, max(0, name.start - _CLOSE), name.start) is None:
        return None
    end = text.find("</", start, start + _FAR)
    return start, end if end >= 0 else _end_of_line(text, start)


def _end_of_bracket(text: str, start: int) -> int:
    """Return the place after the bracket that closes the one here, ignoring quoted text; else the end."""
    depth, quote = 0, ""
    for found in _BRACKET.finditer(text, start):
        mark = found[0]
        if mark in ('"', "'"):
            quote = "" if quote == mark else quote or mark
        elif not quote and len(mark) == 1:
            depth += 1 if mark in "[{(" else -1
            if not depth:
                return found.end()
    return len(text)


_REFERENCE: Final = compile_later(
    r"""\\*["'`]?(?:(?:bearer|basic|token|apikey)[ ])?(?:
      \$\{?\w+\}? | \$\{\w+:?\?.* | \$env:\w+ | \$\(.* | \$?\{\{.* | \{[^{}\s"']*\} | %\w+% | %[sdvrq] | <[\w .-]*>
    | \[\w*\] | (?:id|src)=.*
    | \.{2,} | … | x{3,} | \*+ | !(?:secret|vault|Ref|Sub|ImportValue|GetAtt)\b.* | op://.* | arn:aws:.* | your[-_ ].*
    | true | false | null | none | nil | undefined | yes | no | on | off | inherit | read | write | n/a
    | str | string!? | bytes | bool | boolean | int | integer | number | any | unknown | text | object | secretstr
    | &str | \*string | buffer | function
    | (?:optional|list|array|option|vec|promise|union|record|map|dict|annotated|box|arc|literal|column|field|z|joi|yup
        |models|serializers|forms)[.\[<(].*
    | (?:self|this|cls|os|process|settings|config|cfg|conf|args|opts|options|env|req|request|ctx|context|params|props
        |state|data|body|payload|secrets|vars?|github|inputs|steps|matrix|app|event|resp|response|res|result|session
        |form|user|account|credentials|system|import\.meta|current_app|localstorage|sessionstorage|local|module|re
        )(?:\.\w|\[|\?\.).*
    | (?:await|new|async|lambda|not|is|return|function|must|should|was|are|invalid|expired|missing|required|optional|too
        |unexpected|cannot|failed|found|empty|wrong|incorrect|mismatch|ok|passed|set|unset|changed|updated|added|removed
        |denied|rejected|unauthorized|revoked|enabled|disabled|redacted|hidden|masked|encrypted|has|have|does|string
        |default)(?:[\s,.;:].*)?
    )\\*["'`]?[,;:)}\]]*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""A value that says where the secret is, what it is like, or that there is none."""


def is_reference(value: str) -> bool:
    return _REFERENCE.fullmatch(value[:_NEAR].strip()) is not None


_WORDS: Final = _words(
    """pwd passwort kennwort senha wachtwoord credential credentials creds accesskey secretkey privatekey signature sig
    otp totp jwt bearer sessionid phpsessid jsessionid csrf xsrf authorization sshpass psk"""
)
_ENDS: Final = _words(
    """password passwd passphrase passcode secret token apikey passwords passphrases passcodes secrets apikeys
    storepass keypass"""
)
_KEYS: Final = _words(
    """api access secret private signing encryption master auth account shared service ssh deploy license session
    subscription storage app application client admin root stripe openai anthropic aws azure google gemini
    github slack twilio sendgrid mailgun firebase supabase hmac aes rsa gpg pgp tls ssl"""
)
"""Words that make the `key` behind them a secret."""

_LATER: Final = frozenset({"pass", "pw", "auth", "cookie", "cookies", "dsn"})
"""Secret behind another word (`DB_PASS`), and alone where it is assigned: not in `PASS: 12 tests`."""

_LIKELY: Final = frozenset({"key", "tokens", "sid"})
"""Secret as the last word, if the value looks random: `key=name` and `max_tokens=4096` hide nothing."""

_PUBLIC: Final = frozenset({"public", "primary", "foreign", "cache", "sort", "partition", "row", "index"})
_ABOUT: Final = _words(
    """count counts length len limit limits size type types name names file files path dir url uri endpoint id ids
    expiry expires expiration ttl age at in policy hint field min max required enabled disabled valid index
    budget usage used sock socket host port user prompt label placeholder regex pattern rules strength manager
    provider store version algorithm alg issuer audience helper ref arn header format mode method lifetime
    timeout rotation bucket stdin fd class schema validator validation status error errors days seconds bits
    source scopes"""
)
_ABOUT_FIRST: Final = _words("max min num total is has no eos bos pad unk sep cls mask show forgot require")
"""Last and first words of names that say something about a secret: `token_count`, `PASSWORD_FILE`, `max_token`."""

_NAME_SIGNS: Final = tuple(
    b"pass pw secret token key auth cred cookie sig sid sessi srf psk dsn jwt otp bearer kennwort senha wacht".split()
)
"""Every secret name has one of these in it."""

_NAME_WORD: Final = compile_later(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def secrecy(name: str) -> Secrecy:
    """Return how secret the value of this name is."""
    return _secrecy(name[-128:])


@lru_cache(maxsize=1024)
def _secrecy(name: str) -> Secrecy:
    found: list[str] = _NAME_WORD.findall(name)
    words = [word.lower() for word in found]
    if not words:
        return "none"
    pairs = set(pairwise(words))
    if (
        any(word in _WORDS or word.endswith(_ENDS) for word in words)
        or any(second == "key" and first in _KEYS for first, second in pairs)
        or not _LATER.isdisjoint(words[1:])
        or (found[-1].endswith("KEY") and words[0] not in _PUBLIC)
    ):
        is_about = len(words) > 1 and (words[-1] in _ABOUT or words[0] in _ABOUT_FIRST)
        return "likely" if is_about else "sure"
    if len(words) == 1 and words[0] in _LATER:
        return "assigned"
    return "likely" if words[-1] in _LIKELY and words[0] not in _PUBLIC else "none"


_PIECE: Final = compile_later(r"[A-Za-z0-9_+/=.~!@#$%^*-]{8,}")
_FILE_PATH: Final = compile_later(r"[~.]{0,2}/.*|.*\.[a-z]{1,4}")
_MIXED: Final = compile_later(r"[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d")


def looks_secret(text: str) -> bool:
    """True if the text has a random-looking word of letters and digits in it that is no path."""
    for word in _PIECE.findall(text):
        if _FILE_PATH.fullmatch(word) is None:
            for part in re.split(r"[-_./@]", word):
                if len(part) >= 6 and _MIXED.search(part):
                    return True
                if len(part) >= 16 and not part.isalpha() and not part.isdigit():
                    return True
    return False
