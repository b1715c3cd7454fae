#!/usr/bin/env bash
# Hold a built image to what docs/container.md says: scripts/try_image.sh [docker|podman [IMAGE]]
# Nothing is fetched: commands run without a network, the dashboard is asked on this machine.
set -euo pipefail

engine=${1:-docker}
image=${2:-gfscore}
mine=$(mktemp -d)
names=()
leave() {
    for name in "${names[@]}"; do "$engine" rm -f "$name" > /dev/null 2>&1 || true; done
    rm -rf "$mine"
}
trap leave EXIT

user=$(id -u)
(( user )) || user=4321 # as root: somebody whom the image does not know
chmod 755 "$mine" && { [[ $user == "$(id -u)" ]] || chown "$user" "$mine"; }
harmless=(--network none --cap-drop all --security-opt no-new-privileges)
[[ $engine != podman || $user != "$(id -u)" ]] || harmless+=(--userns keep-id)
as_me=("${harmless[@]}" --user "$user:$user" -v "$mine:/work")

failed() {
    echo "FAIL  $1" >&2
    exit 1
}
passed() { echo "ok    $1"; }

# expect STATUS TEXT WORDS...: the words end with that status and say that text
expect() {
    local status=$1 text=$2 said code=0
    shift 2
    names=("try-once-$$")
    said=$("$engine" run --name "try-once-$$" "$@" 2>&1) || code=$? # some engines forget the status with --rm
    "$engine" rm "try-once-$$" > /dev/null
    [[ $code == "$status" && $said == *"$text"* ]] || failed "$* ended with $code: $said"
    passed "$*"
}

expect 0 "gfscore " "${harmless[@]}" "$image" --version
expect 0 "uid=10001(gfscore) gid=10001(gfscore) groups=10001(gfscore)" "${harmless[@]}" --entrypoint id "$image"
expect 0 "Written: gfscore-demo/" "${harmless[@]}" "$image" demo
expect 0 "Written: demo/" "${as_me[@]}" "$image" demo --out demo
expect 0 "Written: zoo/" "${as_me[@]}" "$image" audit --model zoo:trades --data zoo:digits --out zoo
logits="import numpy as np; y = np.arange(300) % 3; np.savez('logits.npz', logits=np.eye(3)[y] * 4, labels=y)"
expect 0 "" "${as_me[@]}" --entrypoint python "$image" -c "$logits"
expect 0 "Written: results/audit.json" "${as_me[@]}" "$image" audit logits.npz --out results
[[ $(stat -c %u "$mine/results/audit.json") == "$user" ]] || failed "results belong to somebody else"
expect 2 "cannot be written (Permission denied)" "${harmless[@]}" -v "$mine:/work" "$image" audit logits.npz --out other

writable="find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /home/gfscore \) -prune -o -writable -print 2> /dev/null || true"
found=$("$engine" run --rm "${harmless[@]}" --entrypoint sh "$image" -c "$writable" | sort | tr '\n' ' ')
[[ $found =~ ^(/run/lock |/tmp |/var/lock |/var/tmp |/work )*$ ]] || failed "may write to $found"
passed "may write to the home, $found"
left="ls -d /source /root/.cache /opt/gfscore/bin/pip 2> /dev/null"
[[ -z $("$engine" run --rm --user 0 --network none --entrypoint sh "$image" -c "$left || true") ]] || failed "leftovers"
passed "no source, no cache and no installer of gfscore's own"

check=
for place in .Config.Healthcheck .HealthCheck; do # Docker's place, and Podman's
    [[ -n $check ]] || check=$("$engine" image inspect --format "{{index $place.Test 1}}" "$image" 2> /dev/null) || check=
done
[[ -n $check ]] || failed "the image has no health check (Podman keeps it with --format docker only)"

# begin NAME WORDS...: a container that goes on
begin() {
    names+=("$1")
    "$engine" run -d --name "$@" > /dev/null
}
# healthy NAME: what the health check says there
healthy() { "$engine" exec "$1" sh -c "$check" > /dev/null 2>&1; }
# soon WORDS...: they succeed within a minute
soon() {
    for _ in {1..60}; do
        if "$@"; then return; fi
        sleep 1
    done
    return 1
}
# listens NAME: something does there, to the container itself
listens() {
    "$engine" exec "$1" python -c "import socket; socket.create_connection(('127.0.0.1', 8501))" > /dev/null 2>&1
}
# asked ADDRESS: a dashboard answers there, from outside
asked() { curl --silent --fail --max-time 5 --output /dev/null "http://$1/_stcore/health"; }

begin "try-idle-$$" "${harmless[@]}" --entrypoint sleep "$image" 600
healthy "try-idle-$$" || failed "unhealthy where no dashboard runs"
passed "healthy where no dashboard runs"
begin "try-other-$$" "${harmless[@]}" --entrypoint python "$image" -m http.server 8501
soon listens "try-other-$$" || failed "nothing listens"
! healthy "try-other-$$" || failed "healthy where something else answers"
passed "unhealthy where something else answers"

begin "try-shown-$$" -p 127.0.0.1::8501 --cap-drop all --security-opt no-new-privileges -v "$mine:/work:ro" \
    -e http_proxy=http://127.0.0.1:9 "$image" dashboard results --host 0.0.0.0
place=$("$engine" port "try-shown-$$" 8501)
soon asked "$place" || failed "the dashboard cannot be reached at $place"
healthy "try-shown-$$" || failed "unhealthy while its dashboard answers"
passed "the dashboard is reached from outside, and healthy"
begin "try-hidden-$$" -p 127.0.0.1::8501 "$image" dashboard
soon listens "try-hidden-$$" || failed "the dashboard does not start"
! asked "$("$engine" port "try-hidden-$$" 8501)" || failed "the dashboard lets others in unasked"
passed "without --host nobody outside reaches it"

begin "try-stop-$$" "${harmless[@]}" "$image" demo
sleep 5
"$engine" stop -t 30 "try-stop-$$" > /dev/null
[[ $("$engine" inspect --format '{{.State.ExitCode}}' "try-stop-$$") == 130 ]] || failed "does not end when it is stopped"
passed "ends when it is stopped"
