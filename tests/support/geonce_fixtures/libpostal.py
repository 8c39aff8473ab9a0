"""The stand-in for libpostal (tests/support/fake_libpostal) and a data folder for it."""

import os
import pathlib

FOLDERS = ("address_expansions", "address_parser", "numex", "transliteration")


def find_library():
    """FAKE_LIBPOSTAL, else where the build that GEONCE_BIN comes from has put it."""
    named = os.environ.get("FAKE_LIBPOSTAL")
    if named:
        return pathlib.Path(named)
    build = pathlib.Path(os.environ["GEONCE_BIN"]).resolve().parents[1]
    return build / "fake_libpostal" / "libpostal.so.1"


class Libpostal:
    """`Libpostal(folder)` makes the data; `postal.config()` is what geonce is told of it."""

    def __init__(self, directory):
        self.data = pathlib.Path(directory)
        self.library = find_library()
        self.answers = {}
        for folder in FOLDERS:
            (self.data / folder).mkdir(parents=True)
        (self.data / "address_expansions" / "address_dictionary.dat").write_text("dictionary")
        (self.data / "transliteration" / "transliteration.dat").write_text("letters")
        self.setup("numex", "ok")
        self.setup("address_parser", "ok")
        self.answer({})

    def setup(self, folder, deed):
        (self.data / folder / "setup").write_text(deed)

    def answer(self, answers):
        """What is said of texts, beside the guess: `label=words|…`, or a misdeed such as !crash."""
        self.answers |= answers
        lines = [f"{text}\t{said}\n" for text, said in self.answers.items()]
        (self.data / "address_parser" / "answers").write_text("".join(lines))

    def config(self, more=""):
        return (
            f'\n[normalize]\nbackend = "libpostal"\nlibrary = "{self.library}"\ndata = "{self.data}"\n{more}\n'
        )

    def pids(self):
        """The processes that have read the model, in order."""
        file = self.data / "setups"
        return [int(line) for line in file.read_text().split()] if file.exists() else []
