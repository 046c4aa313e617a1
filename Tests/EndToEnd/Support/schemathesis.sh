#!/bin/sh
# Sends generated requests, valid and invalid, to every operation of a running gateway without keys. Each answer must
# have a status other than 5xx, and a status and content that the OpenAPI document lists. There are three searches,
# one after another. One of them leaves out the modify operations. In this search, the gateway must also refuse every
# invalid request.
#
#   schemathesis.sh ADDRESS [SECONDS [DOCUMENT]]
#
# ADDRESS    such as http://127.0.0.1:7490
# SECONDS    the time of the three searches together; 150 if it is not given
# DOCUMENT   a file to use in place of the gateway's own document
#
# The program is $BELFRY_WEB_VENV/bin/schemathesis, or else schemathesis in PATH. $SEED is the seed, 20 if it is not
# set. Exit status: 0 if all answers are correct, 1 if an answer is wrong or a search cannot run, 64 for wrong usage.
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] || { echo "usage: schemathesis.sh ADDRESS [SECONDS [DOCUMENT]]" >&2; exit 64; }
address=${1%/} seconds=${2:-150} document=${3:-$address/openapi.json}
case $document in http*) ;; *) document=$(realpath "$document") ;; esac
program=${BELFRY_WEB_VENV:+$BELFRY_WEB_VENV/bin/}schemathesis

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$folder/hypothesis"

# The first two of the three searches give most requests a valid container and user, so that the gateway reads their
# bodies.
cat >user.toml <<'TOML'
[parameters]
"path.container" = "iCloud.com.example.Fuzz"
"query.ckAPIToken" = "any"
"query.ckWebAuthToken" = "_alice"
TOML
: >anyone.toml

# $1: the configuration, $2: seconds; then further options.
search() {
    configuration=$1 time=$2
    shift 2
    "$program" --config-file "$configuration.toml" run "$document" --url "$address" --seed "${SEED:-20}" \
        --max-time "$time" --phases examples,coverage,fuzzing --generation-database none --request-timeout 30 \
        --continue-on-failure --no-color --warnings off "$@"
}
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
third=$(((seconds + 2) / 3)) status=0
# An invalid operation of a modify request gets an error in place of its result, and the status of the answer is 200.
search user $third --include-path-regex '/modify$' --checks $checks || status=1
search user $third --exclude-path-regex '/modify$' --checks $checks,negative_data_rejection || status=1
# Without fixed parameters: most containers, databases and tokens are wrong.
search anyone $third --checks $checks || status=1
exit $status
