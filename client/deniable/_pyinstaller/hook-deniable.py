"""Freezes the modules of commands, which are imported by name, and the shipped model of letters."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

_LEFT_OUT = ("deniable._pyinstaller", "deniable._testing", "deniable.testing")

datas = collect_data_files("deniable_shared")
hiddenimports = [
    *collect_submodules("deniable", filter=lambda name: not name.startswith(_LEFT_OUT)),
    *collect_submodules("deniable_shared"),
]
