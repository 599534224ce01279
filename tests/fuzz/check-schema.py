#!/usr/bin/env python3
"""The schema shipped and the reader agree about every settings file of the corpus.

usage: check-schema.py VERDICT-PROGRAM SCHEMA FOLDER
Files named ok-* are taken by both, bad-* are refused by both; *-json-* are no JSON or have
duplicate keys, which a schema cannot see. Skipped (77) without python3-jsonschema.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)

verdict, schema_path, folder = sys.argv[1:]
schema = json.loads(pathlib.Path(schema_path).read_text(encoding="utf-8"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
paths = sorted(pathlib.Path(folder).iterdir())
taken = subprocess.run([verdict, *paths], check=True, text=True, stdout=subprocess.PIPE)
wrong = 0
for path, word in zip(paths, taken.stdout.split(), strict=True):
    expected = "taken" if path.name.startswith("ok-") else "refused"
    if word != expected:
        print(f"{path.name}: the reader says {word}")
        wrong += 1
    if "-json-" in path.name:
        continue
    valid = validator.is_valid(json.loads(path.read_text(encoding="utf-8")))
    if valid != (expected == "taken"):
        print(f"{path.name}: the schema says {'taken' if valid else 'refused'}")
        wrong += 1
sys.exit(1 if wrong else 0)
