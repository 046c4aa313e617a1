#!/bin/sh
# Sends a request with a server-to-server signature, step by step as Apple's document says.
#
#   signed_request.sh ADDRESS KEY_ID KEY_FILE SUBPATH BODY
#   signed_request.sh http://127.0.0.1:7490 3c9a… eckey.pem \
#       /database/1/iCloud.com.example.Notes/development/public/records/query '{"query":{"recordType":"Shop"}}'
#
# The key is made by: openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem
# Prints the answer. Exit status: 0 for the HTTP status 200, 1 for another one, 64 for wrong usage;
# without an answer, the exit status of curl.
#
# CloudKit Web Services Reference, "Accessing CloudKit Using a Server-to-Server Key". A test may set DATE to another
# time than now, and SENT_BODY to another body than the signed one.
set -eu
[ $# -eq 5 ] || { echo "usage: signed_request.sh ADDRESS KEY_ID KEY_FILE SUBPATH BODY" >&2; exit 64; }
address=$1 key_id=$2 key_file=$3 subpath=$4 body=$5

# [Current date]:[Request body]:[Web service URL subpath]
date=${DATE:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
digest=$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A)
signature=$(printf %s "$date:$digest:$subpath" | openssl dgst -sha256 -sign "$key_file" | openssl base64 -A)

answer=$(curl -sS --max-time 60 -w '\n%{http_code}' -X POST \
    -H 'content-type: text/plain' \
    -H "X-Apple-CloudKit-Request-KeyID: $key_id" \
    -H "X-Apple-CloudKit-Request-ISO8601Date: $date" \
    -H "X-Apple-CloudKit-Request-SignatureV1: $signature" \
    --data-binary "${SENT_BODY:-$body}" "$address$subpath")
printf '%s\n' "$answer" | sed '$d'
[ "$(printf '%s\n' "$answer" | tail -n 1)" = 200 ]
