"""The program around the commands: help, suggestions, exit codes, Ctrl-C."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.program import Page

PROGRAM: Any = typer.main.get_command(cli.app)
COMMANDS = sorted(PROGRAM.commands)


def said(*arguments):
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], terminal_width=80)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ftt"], "No such command 'ftt'. Did you mean `ipub fit`?"),
        (["nothing"], "No such command 'nothing'. See `ipub --help`."),
        (["--foo"], "No such option: --foo. See `ipub --help`."),
        (["fit"], "Missing argument 'TRAIN'. See `ipub fit --help`."),
    ],
)
def test_a_command_or_option_that_does_not_exist_ends_in_one_sentence(arguments, sentence):
    done = said(*arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"Error: {sentence}\n")


def test_without_arguments_help_is_printed():
    done = said()
    assert done.exit_code == 0
    assert done.stdout == said("--help").stdout
    assert all(re.search(rf"^  {name} ", done.stdout, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_fits_80_columns_and_ends_with_examples_that_it_understands(name):
    done = said(name, "--help")
    assert done.exit_code == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert "<" not in done.stdout.split("Options:")[0]
    examples = [line.strip() for line in done.stdout.split("Examples:")[1].splitlines() if line.strip()]
    assert examples
    own = 0
    for example in examples:
        # What is piped in or out is another program's.
        words = next(shlex.split(part) for part in example.split("|") if part.strip().startswith("ipub "))
        command = PROGRAM.commands[words[1]]
        assert isinstance(command, Page)
        context = command.make_context(words[1], words[2:])
        assert not context.args
        own += words[1] == name
    assert own


@pytest.mark.skipif(os.name == "nt", reason="a signal of POSIX")
@pytest.mark.parametrize(
    "work",
    [
        "time.sleep(60)",
        # What does not get back to Python: the interpreter sees no signal.
        "import ctypes; ctypes.CDLL(None).usleep(60_000_000)",
        "import concurrent.futures as f; f.ThreadPoolExecutor(1).submit(time.sleep, 60).result()",
    ],
    ids=["in Python", "in C", "in a thread"],
)
def test_ctrl_c_ends_with_one_sentence_and_leaves_no_file(work, tmp_path):
    code = f"""
import sys, time
from ipub.app.cli import app
from ipub.app.files.atomic import whole_file
from ipub.app.interrupts import end_soon_after_ctrl_c

@app.command()
def work():
    with whole_file({str(tmp_path / "out.csv")!r}) as file:
        file.write(b"half")
        print("ready", flush=True)
        {work}

end_soon_after_ctrl_c()
sys.argv = ["ipub", "work"]
app()
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert errors.strip() == "Error: Stopped. Files that were not complete are as they were before."
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize(
    ("words", "completed"),
    [("f", ["fit"]), ("fit --al", ["--alpha"]), ("predict m.ipub t.csv --only", ["--only-open"])],
)
def test_shells_complete_commands_and_options(words, completed):
    line = f"ipub {words}"
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_IPUB_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-m", "ipub.app"], env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == completed, done.stderr
