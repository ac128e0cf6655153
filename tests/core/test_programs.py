"""Shell commands: what is known to only read, and that nothing else is taken for it."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.shell.programs import effect_of_line
from tests.sizes import size
from tests.text.hostile import seeded

READS = """
ls
ls -la src
cat a | head -5 && git status
git log --oneline -5 2>&1 | head
grep -rn 'foo$' src >/dev/null
grep "foo$" a 2>/dev/null || true
find . -name '*.py' | xargs grep -l foo
find . -type f -newer a
find . -exec grep foo {} +
node -v
sed -n '10,20p' a
sed -n -e '/one/,/two/p' -e 5p a
sed 's/a/b/g; s|x|y|' a
nl -ba a | sed -n '1,5p;7p'
awk '{print $1}' a
sort a -k2 | uniq -c
bash -lc 'cd src && ls'
sh -c "cat a"
LANG=C sort a
GIT_PAGER=cat git log
git branch
git branch --list 'a*'
git branch -a -vv
git tag -l
git -C src diff HEAD~1
git diff 'HEAD@{1}'
git show HEAD:a
git stash list
git remote -v
git --no-pager log
git config --get user.name
for f in *; do cat $f; done
if [ -f a ]; then cat a; fi
[[ -f a ]] && cat a
timeout 5 ls
timeout -s KILL 5 ls
sudo ls
nice -n 5 ls
time ls
env
command -v git
python --version
/usr/bin/ls
\\ls
(cd src; ls)
{ ls; }
! grep foo a
gh pr view 3 --json title
docker ps -a
npm ls
tar tf a.tar
cat $HOME/a
cat < a
ls >&2
ls 2>&1 >/dev/null
echo "a;b" 'c>d' e\\>f
""".strip().splitlines()

CHANGES = [
    *"""
rm a
ls > b
ls>b
cat a >> b
ls >| b
ls &> b
ls >& b
ls 2> b
> b
echo a 1<> b
cat 'a' 'b'>c
ls; rm a
ls & rm a
ls && rm a
ls || rm a
ls | rm a
ls |& rm a
(ls; rm a)
{ rm a; }
! rm a
if true; then rm a; fi
while rm a; do ls; done
for f in a; do rm $f; done
for PATH in .; do ls; done
echo $(rm a)
echo "$(rm a)"
echo `rm a`
echo "`rm a`"
cat <(rm a)
ls > >(tee b)
echo ${x:=1}
echo ${x@P}
echo $((x=1))
sed -i s/a/b/ a
sed -ni p a
sed -n -i.bak p a
sed --in-place p a
sed 's/a/b/w out' a
sed 's/a/b/e' a
sed -n 'w out' a
sed -e p -e 'w out' a
sed '1e rm a' a
sed -f script a
find . -delete
find . -exec rm {} +
find . -exec rm {} ;
find . -fprint out
find . -exec ./grep a {} +
find . -exec find {} -delete +
find . -execdir sort -o a {} +
pytest -v
python -v
find . $X
find . "$X"
find . -de{lete,x}
find . $'-delete'
find * -name a
fd -x rm
rg --pre rm a
xargs rm
ls | xargs -n 1 rm
ls | xargs find
ls | xargs sh -c 'rm a'
git commit -m x
git add .
git checkout a
git branch b
git branch -D b
git branch -f a b
git tag v1
git tag -d v1
git stash
git stash pop
git remote add a b
git remote -v add x y
git remote -v update
git config a b
git -c core.pager=rm log
git diff --output=b
git diff --outp b
git grep -Orm a
git fetch
git clean -fd
git reset --hard
git reflog expire --all
bash -c 'rm a'
bash -lc "ls; rm a"
bash script.sh
bash
env rm a
env -S 'rm a'
PATH=. ls
LD_PRELOAD=x ls
GIT_EXTERNAL_DIFF=rm git diff
PAGER=rm git log
X=1
sudo rm a
sudo -u root ls
time rm a
timeout 5 rm a
nice -n 5 rm a
command rm a
exec rm a
eval ls
source a
. a
alias ls=rm
sort -o b a
sort --output=b a
sort -uo b a
uniq a b
tee b
awk '{print > "b"}' a
awk 'BEGIN { system("rm a") }'
awk -f script a
awk -i inplace 1 a
printf -v PATH .
tree -o b
base64 -o b a
date -s 12:00
hostname b
xxd a b
ss -K
tar xf a.tar
tar tf a.tar --to-command=rm
docker run x
npm install
pip install x
pip list --log b
python -c 1
python script.py
make
pytest
curl http://localhost
./ls
~/bin/ls
../bin/ls
ls 'unclosed
ls "unclosed
ls >
ls > > b
frobnicate
\\
""".strip().splitlines(),
    "",
    "   ",
    "# nothing",
    "ls\nrm a",
    "ls # here\nrm a",
    "ls # here; rm a",
    "ls \\\n; rm a",
    "ls\r\nrm a",
    "cat <<E\na\nE",
    "cat <<< a",
    "ls \0 a",
    "r\\m a",
    "'rm' a",
    "r''m a",
    "bash -c " + "'bash -c " * 3 + "ls",
]


@pytest.mark.parametrize("line", READS)
def test_a_command_that_only_reads_is_known(line: str) -> None:
    assert effect_of_line(line) == "reads"


@pytest.mark.parametrize("line", CHANGES, ids=ascii)
def test_a_command_that_changes_or_is_not_known_is_not_taken_for_reading(line: str) -> None:
    assert effect_of_line(line) != "reads"


PIECES = [
    *["ls", "cat a", "rm a", "touch c", "tee c", "echo x", "sort a", "sort -o b a", "uniq a b", "cp a c", "mv a c"],
    *["find . -name a", "find . -delete", "-delete", "sed -n 1p a", "sed -i s/x/y/ a", "xargs rm", "xargs cat", "wc a"],
    *[";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}", "!", ">", ">>", "2>&1", ">/dev/null", "> c", "<", "< a"],
    *["'", '"', "\\", "#", "$(rm a)", "`rm a`", "$X", "{a,b}", "*", "for f in a b; do", "done", "if true; then", "fi"],
    *["X=-delete", "LANG=C", "env", "sh -c", "'ls; rm a'", "'ls'", "awk 1 a", "true", "test -f a", " ", "-exec", "rm"],
]


@pytest.mark.needs("bash")
def test_what_is_judged_to_read_leaves_a_real_folder_as_it_was(tmp_path: Path) -> None:
    """Random lines are judged; those judged to read are run by a real shell, which must change nothing."""
    wanted, run = size(150, 15_000), 0
    for seed, rng in seeded(100 * wanted):
        line = " ".join(rng.choices(PIECES, k=rng.randrange(1, 7)))
        if effect_of_line(line) != "reads":
            continue
        _fill(tmp_path)
        _run(line, tmp_path)
        assert _contents(tmp_path) == {"a": "x\nx\n", "b": "y\n"}, f"PUNCHLIST_SEED={seed}: {line!r}"
        run += 1
        if run == wanted:
            return
    raise AssertionError(f"only {run} lines were judged to read")


def _run(line: str, folder: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    nothing = subprocess.DEVNULL
    shell = ["bash", "-c", line]
    subprocess.run(shell, cwd=folder, env=environment, stdin=nothing, capture_output=True, check=False, timeout=60)


def _fill(folder: Path) -> None:
    (folder / "a").write_text("x\nx\n")
    (folder / "b").write_text("y\n")


def _contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join))
def test_every_line_is_judged_and_none_raises(line: str) -> None:
    assert effect_of_line(line) in ("reads", "records", "changes")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map(" ".join))
def test_what_follows_a_change_does_not_undo_it(line: str) -> None:
    assert effect_of_line(f"rm a; {line}") != "reads"
    assert effect_of_line(f"rm a\n{line}") != "reads"


@pytest.mark.parametrize(
    "line",
    [
        "'" * 7_999,
        '"' * 7_999,
        "\\" * 7_999,
        '"\\' * 3_999,
        "(" * 7_999,
        "$" * 7_999,
        "a" * 7_999,
        "sed -n '" + "s/" * 3_900 + "'",
        "sed -n '" + "1," * 3_900 + "'",
        "ls " + "-a " * 2_000,
        "bash -c " * 900,
        "env " * 1_900 + "ls",
        "x" * 1_000_000,
    ],
    ids=lambda line: ascii(line)[:20],
)
def test_a_bomb_is_judged_in_no_time(line: str) -> None:
    assert effect_of_line(line) in ("reads", "records", "changes")
