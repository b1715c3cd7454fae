#!/usr/bin/env bash
# What action.yml runs. Inputs come as environment variables and leave as whole words, so none of them is ever code.
set -euo pipefail

out=${GATE_OUT:-gfscore-gate}
words=("--out=$out" "--junit=$out/junit.xml" "--sarif=$out/gate.sarif" "--summary=$out/summary.md")
for option in config policy robust-accuracy wcr rdi accuracy baseline delta; do
    variable=GATE_${option^^}
    variable=${variable//-/_}
    [[ -z ${!variable:-} ]] || words+=("--$option=${!variable}")
done
[[ ${GATE_ADAPTIVE:-false} != true ]] || words+=(--adaptive)
for option in model data class-robust-accuracy allow; do
    variable=GATE_${option^^}
    variable=${variable//-/_}
    while IFS= read -r line; do
        [[ -z $line ]] || words+=("--$option=$line")
    done <<< "${!variable:-}"
done
if [[ -n ${GATE_ARGS:-} ]]; then # cut into words as a shell does, but nothing is expanded or run
    cut=$(mktemp)
    if ! python3 -c 'import os, shlex, sys; sys.stdout.write("".join(f"{word}\0" for word in shlex.split(os.environ["GATE_ARGS"])))' > "$cut" 2> /dev/null; then
        echo "args: has a quotation mark without its partner. Close it." >&2
        exit 2
    fi
    while IFS= read -r -d '' word; do
        words+=("$word")
    done < "$cut"
fi
words+=(--) # what follows are files, whatever they are called
while IFS= read -r line; do
    [[ -z $line ]] || words+=("$line")
done <<< "${GATE_LOGITS:-}"

code=0
gfscore gate "${words[@]}" || code=$?
case $code in
    0) verdict=PASS ;;
    1) verdict=FAIL ;;
    3) verdict=UNDECIDED ;;
    *) exit "$code" ;;
esac
echo "verdict=$verdict" >> "${GITHUB_OUTPUT:-/dev/null}"
cat "$out/summary.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
[[ $verdict != UNDECIDED || ${GATE_UNDECIDED:-fail} != pass ]] || code=0
exit "$code"
