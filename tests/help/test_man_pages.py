"""The help of every command and its man page name the same options and arguments.

GEONCE_BIN names the built program.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
MAN = ROOT / "man"


def help_of(*words):
    done = subprocess.run(
        [os.environ["GEONCE_BIN"], *words, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def subcommands(text):
    """The names below `Subcommands:`."""
    _, _, below = text.partition("Subcommands:\n")
    return re.findall(r"^  ([a-z][a-z-]*)\b", below, re.MULTILINE)


def options(text):
    """Long options, and short ones, that stand at the head of a help line."""
    found = set()
    for line in re.findall(r"^  (-.*)$", text, re.MULTILINE):
        head = re.match(r"(-{1,2}[\w-]+)(,\s*-{1,2}[\w-]+)*", line)[0]
        found |= set(re.findall(r"-{1,2}[\w-]+", head))
    return found - {"-h", "--help", "--help-all"}


def positionals(text):
    _, _, below = text.partition("Positionals:\n")
    below = below.split("\n\n")[0]
    return set(re.findall(r"^  ([A-Z][A-Z_]*)\b", below, re.MULTILINE))


COMMANDS = subcommands(help_of())
GLOBALS = options(help_of())


def page_of(command):
    return MAN / f"geonce-{command}.md"


def terms(page):
    """The defined terms of a man page: the line above each `:   `, without its examples."""
    text = page.read_text()
    return "\n".join(re.findall(r"^(.+)\n:   ", text, re.MULTILINE)).replace("\\", "")


def page_options(page):
    return set(re.findall(r"\*\*(--?[\w-]+)", terms(page))) - {"-h", "--help", "--help-all"}


def whole_help(command):
    """A command's help with that of what is below it."""
    text = help_of(command)
    return [text] + [help_of(command, below) for below in subcommands(text)]


def test_the_program_has_commands():
    assert {"batch", "get", "entry", "ledger", "config"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_and_the_help_of_its_command_name_the_same_options(command):
    helped = set().union(*(options(text) for text in whole_help(command))) - GLOBALS
    assert page_options(page_of(command)) == helped


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_and_the_help_of_its_command_name_the_same_arguments(command):
    helped = set().union(*(positionals(text) for text in whole_help(command)))
    words = terms(page_of(command))
    named = {
        word for line in words.splitlines() if line.startswith("*") and not line.startswith("**")
        for word in re.findall(r"^\*([A-Z][A-Z_]*)\*", line)
    }
    assert named == helped


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_shows_every_way_to_call_its_command(command):
    synopsis = page_of(command).read_text().split("# SYNOPSIS")[1].split("# DESCRIPTION")[0]
    for below in subcommands(help_of(command)) or [""]:
        assert f"**geonce {command} {below}".rstrip() in synopsis


def test_the_first_page_names_every_command_and_global_option():
    page = MAN / "geonce.md"
    assert page_options(page) == GLOBALS
    assert set(re.findall(r"\*\*([a-z]+)\*\*\n:   ", page.read_text())) == set(COMMANDS)


def test_every_page_belongs_to_a_command():
    pages = {page.stem for page in MAN.glob("*.md")}
    assert pages == {"geonce"} | {f"geonce-{command}" for command in COMMANDS}


def test_the_reference_names_every_command():
    text = (ROOT / "docs/reference/cli.md").read_text()
    assert set(re.findall(r"man/geonce-(\w+)\.md", text)) == set(COMMANDS)


def test_every_option_in_the_docs_exists():
    """Tutorials rot where nobody runs them: at least their options are real."""
    known = GLOBALS | {"--help", "--help-all"}
    for command in COMMANDS:
        known |= set().union(*(options(text) for text in whole_help(command)))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for line in re.findall(r"^(?:    )?(?:\$ )?(geonce .*)$", page.read_text(), re.MULTILINE):
            unknown = set(re.findall(r"(?<=\s)--[\w-]+", line)) - known
            assert not unknown, f"{page}: {line}"
