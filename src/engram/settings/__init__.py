"""Settings: the values a user may change, where each one comes from, and the file that keeps them.

`table.py` declares every setting once; type checker, range check, command line and `docs/settings.md` read that line. A value
comes from, later wins: its default, the configuration file, `ENGRAM_<NAME>` in the environment, the arguments of
`engram.open(settings={...})`, and `LiveSettings.set`. A number out of range is clamped with a warning; a value of the wrong
type falls back to the default with a warning. This room is the only reader of environment variables and configuration files.

Numbers that tune a rule are no settings: they stand beside the rule, in a frozen `Weights` or `Limits` value, and
`LiveSettings.tuned` hands them out.
"""

from __future__ import annotations

from engram.settings.current import LiveSettings as LiveSettings
from engram.settings.current import coerce as coerce
from engram.settings.current import consistent as consistent
from engram.settings.current import problem_with as problem_with
from engram.settings.current import save as save
from engram.settings.current import unknown as unknown
from engram.settings.environment import completing as completing
from engram.settings.environment import environment_variable as environment_variable
from engram.settings.environment import passphrase as passphrase
from engram.settings.environment import secret as secret
from engram.settings.file import with_line as with_line
from engram.settings.folders import config_path as config_path
from engram.settings.folders import data_folder as data_folder
from engram.settings.folders import hidden_home as hidden_home
from engram.settings.folders import home as home
from engram.settings.folders import host_folder as host_folder
from engram.settings.folders import key_folder as key_folder
from engram.settings.folders import model_folder as model_folder
from engram.settings.table import TABLE as TABLE
from engram.settings.table import Settings as Settings
from engram.settings.tunable import Value as Value
