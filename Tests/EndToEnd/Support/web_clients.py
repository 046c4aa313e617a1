#!/usr/bin/env python3
"""Drives a running gateway through pyicloud's CloudKit client, of which only the address is changed.

    web_clients.py http://127.0.0.1:7490

The gateway must run without keys and with `behindTLS: true`. Prints a line for each check; exits with 1 at the first
check that fails.

pyicloud sends assets to https addresses only. In front of an http gateway, the script therefore starts a proxy with
TLS, as an operator would, and the client talks to the proxy.
"""
import http.client
import http.server
import os
import secrets
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import requests
from pyicloud.common.cloudkit import client as cloudkit
from pyicloud.common.cloudkit import models

CONTAINER = "iCloud.com.example.Clients"
# A user of this run alone, so the script can run against the same gateway again.
USER = "_" + secrets.token_hex(16)
ZONE = models.CKZoneIDReq(zoneName="Notes")
CHECKS = []


def check(function):
    """Adds a check. Its doc comment is printed with its result."""
    CHECKS.append(function)
    return function


class Gateway:
    """The client of the gateway's private database, and the values that the checks share."""

    def __init__(self, address, session):
        self.root = f"{address}/database/1/{CONTAINER}/development"
        self.session = session
        self.client = self.database("private")
        self.tags = {}

    def database(self, name):
        parameters = {"ckWebAuthToken": USER, "remapEnums": True, "getCurrentSyncToken": True}
        return cloudkit.CloudKitContainerClient(f"{self.root}/{name}", self.session, parameters)

    def modify(self, *operations, atomic=None):
        return self.client.modify(operations=list(operations), zone_id=ZONE, atomic=atomic).records

    def modify_one(self, kind, name, fields=None, tag=None, record_type="Note"):
        (record,) = self.modify(operation(kind, name, fields, tag, record_type))
        if kind not in ("delete", "forceDelete"):
            self.tags[name] = record.recordChangeTag
        return record

    def look_up(self, *names, keys=None):
        return self.client.lookup(names, zone_id=ZONE, desired_keys=keys).records

    def query(self, *filters, sort=None, record_type="Numbered", **options):
        query = models.CKQueryObject(recordType=record_type, filterBy=list(filters) or None, sortBy=sort)
        return self.client.query(query=query, zone_id=ZONE, **options)

    def names(self, *filters, **options):
        return [record.recordName for record in self.query(*filters, **options).records]

    def pages(self, token=None, limit=None, **members):
        zone = models.CKZoneChangesZoneReq(zoneID=models.CKZoneID(zoneName="Notes"), syncToken=token, **members)
        return list(self.client.iter_changes(zone_req=zone, results_limit=limit))

    def changed(self, token):
        """The names of the records that changed since the token, and the next token."""
        pages = self.pages(token)
        return [record.recordName for page in pages for record in page.records], pages[-1].syncToken


def operation(kind, name, fields=None, tag=None, record_type="Note"):
    record = models.CKWriteRecord(recordName=name, recordType=record_type, fields=fields or {}, recordChangeTag=tag)
    return models.CKModifyOperation(operationType=kind, record=record)


def text(value):
    return {"type": "STRING", "value": value}


def number(value):
    return {"type": "INT64", "value": value}


def where(field, comparator, value):
    return models.CKQueryFilterBy(fieldName=field, comparator=comparator, fieldValue=value)


def by(field, ascending=True):
    return models.CKQuerySortBy(fieldName=field, ascending=ascending)


def expect(condition, *details):
    if not condition:
        raise AssertionError(" ".join(str(detail) for detail in details) or "not as expected")


def equal(found, wanted):
    expect(found == wanted, "found", found, "and not", wanted)


def refused(words, call, *arguments, **options):
    """Expects that the call is refused with an error that contains the words. Returns the answer."""
    try:
        call(*arguments, **options)
    except cloudkit.CloudKitApiError as error:
        expect(words in str(error) + str(error.payload), error, error.payload)
        return error.payload
    raise AssertionError(f"not refused with {words}")


# Zones


@check
def zones_list(gateway):
    """zones_list: a new user has only the default zone"""
    equal([zone.zoneID.zoneName for zone in gateway.client.zones_list().zones], ["_defaultZone"])


@check
def missing_zone(gateway):
    """modify, query, changes: ZONE_NOT_FOUND before the zone is created"""
    refused("ZONE_NOT_FOUND", gateway.modify_one, "create", "n1")
    refused("ZONE_NOT_FOUND", gateway.query)
    refused("ZONE_NOT_FOUND", gateway.pages)


@check
def zone_create(gateway):
    """raw_post zones/modify: creates a zone, which zones_list then returns"""
    zone = {"zoneID": ZONE.model_dump(exclude_none=True)}
    gateway.client.raw_post("/zones/modify", {"operations": [{"operationType": "create", "zone": zone}]})
    zones = gateway.client.zones_list().zones
    equal({zone.zoneID.zoneName for zone in zones}, {"_defaultZone", "Notes"})
    equal({zone.zoneID.ownerRecordName for zone in zones}, {USER})


# Writing

FIELDS = {
    "title": text("Grüße, \"Ada\"\n"),
    "count": number(2**53 + 1),
    "weight": {"type": "DOUBLE", "value": 0.1},
    "due": {"type": "TIMESTAMP", "value": 1_700_000_000_123},
    "data": {"type": "BYTES", "value": "AAECAwT/"},
    "place": {"type": "LOCATION", "value": {"latitude": 48.2, "longitude": 16.37}},
    "tags": {"type": "STRING_LIST", "value": ["red", "blue"]},
    "counts": {"type": "INT64_LIST", "value": [1, 2, 3]},
    "weights": {"type": "DOUBLE_LIST", "value": [0.5, -1e300]},
}


@check
def create(gateway):
    """modify create: answers with the record, its tag, its creation time and its user"""
    record = gateway.modify_one("create", "n1", FIELDS)
    expect(record.recordChangeTag and record.recordType == "Note", record)
    equal((record.created.userRecordName, record.modified.userRecordName), (USER, USER))
    expect(record.created.timestamp.year >= 2026, record.created)
    equal((record.zoneID.zoneName, record.zoneID.ownerRecordName), ("Notes", USER))


@check
def field_types(gateway):
    """lookup: nine types of fields come back as they were written"""
    (record,) = gateway.look_up("n1")
    raw = gateway.client.raw_post("/records/lookup", {"records": [{"recordName": "n1"}], "zoneID": {"zoneName": "Notes"}})
    equal(raw["records"][0]["fields"], FIELDS)
    equal(record.fields.title.value, FIELDS["title"]["value"])
    equal(record.fields.count.value, 2**53 + 1)
    equal(record.fields.due.value.timestamp(), 1_700_000_000.123)


@check
def references(gateway):
    """modify create: a reference with VALIDATE needs an existing target"""
    def child(name, target):
        value = {"recordName": target, "action": "VALIDATE"}
        return gateway.modify_one("create", name, {"parent": {"type": "REFERENCE", "value": value}})
    refused("VALIDATING_REFERENCE_ERROR", child, "c0", "nobody")
    equal(child("c1", "n1").fields.parent.value.recordName, "n1")


@check
def create_again(gateway):
    """modify create: CONFLICT if the record exists"""
    refused("CONFLICT", gateway.modify_one, "create", "n1")


@check
def update(gateway):
    """modify update: with the tag, merges fields and gives a new tag"""
    old = gateway.tags["n1"]
    record = gateway.modify_one("update", "n1", {"title": text("two")}, old)
    expect(record.recordChangeTag != old, record)
    equal((record.fields.title.value, record.fields.weight.value), ("two", 0.1))
    gateway.tags["old"] = old


@check
def conflict(gateway):
    """modify update, replace, delete: CONFLICT with an older tag and without a tag"""
    for kind in ("update", "replace", "delete"):
        for tag in (gateway.tags["old"], None):
            fields = {"title": text("lost")} if kind != "delete" else None
            refused("CONFLICT", gateway.modify_one, kind, "n1", fields, tag)
    (record,) = gateway.look_up("n1")
    equal((record.fields.title.value, record.recordChangeTag), ("two", gateway.tags["n1"]))


@check
def force(gateway):
    """modify forceUpdate, replace, forceReplace: force operations need no tag; replace drops other fields"""
    equal(gateway.modify_one("forceUpdate", "n1", {"title": text("three")}).fields.weight.value, 0.1)
    equal(sorted(gateway.modify_one("replace", "n1", {"title": text("four")}, gateway.tags["n1"]).fields), ["title"])
    equal(sorted(gateway.modify_one("forceReplace", "n1", {"count": number(1)}).fields), ["count"])
    equal(gateway.modify_one("forceUpdate", "n2", {"count": number(2)}).recordType, "Note")


@check
def atomic(gateway):
    """modify, atomic: a conflict rejects the whole request; the other operation gets ATOMIC_ERROR"""
    good, bad = operation("create", "a1"), operation("update", "n1", {"count": number(9)}, "0")
    answer = refused("CONFLICT", gateway.modify, good, bad, atomic=True)
    equal([record["serverErrorCode"] for record in answer["records"]], ["ATOMIC_ERROR", "CONFLICT"])
    equal(gateway.look_up("a1")[0].serverErrorCode, "NOT_FOUND")


@check
def not_atomic(gateway):
    """modify, not atomic: after a conflict, the other operation is still executed"""
    good, bad = operation("create", "a1"), operation("update", "n1", {"count": number(9)}, "0")
    answer = refused("CONFLICT", gateway.modify, good, bad, atomic=False)
    expect("serverErrorCode" not in answer["records"][0], answer)
    equal(gateway.look_up("a1")[0].recordType, "Note")


@check
def delete(gateway):
    """modify delete, forceDelete: answers with a tombstone; lookup says NOT_FOUND"""
    (record,) = gateway.modify(operation("delete", "n2", tag=gateway.tags["n2"]))
    expect(isinstance(record, models.CKTombstoneRecord) and record.recordName == "n2", record)
    refused("NOT_FOUND", gateway.modify_one, "delete", "n2", tag=gateway.tags["n2"])
    expect(gateway.modify_one("forceDelete", "n2").deleted, "forceDelete of a missing record")
    expect(gateway.modify_one("forceDelete", "a1").deleted, "forceDelete")
    equal([record.serverErrorCode for record in gateway.look_up("n2", "a1")], ["NOT_FOUND", "NOT_FOUND"])


# Reading


@check
def many(gateway):
    """modify: creates 200 records in an atomic request"""
    kinds = ["red", "green", "blue"]
    records = gateway.modify(*[
        operation("create", f"k{index:03}", {
            "index": number(index), "kind": text(kinds[index % 3]), "name": text(f"name {index:03}"),
            "colours": {"type": "STRING_LIST", "value": kinds[: index % 4]},
            "owner": {"type": "REFERENCE", "value": {"recordName": "n1" if index % 2 else "c1", "action": "NONE"}},
        }, record_type="Numbered") for index in range(200)], atomic=True)
    equal(len({record.recordChangeTag for record in records}), 200)


@check
def lookup(gateway):
    """lookup: in the order of the names, with desired keys"""
    records = gateway.look_up("k007", "nobody", "k003", keys=["index"])
    equal([record.recordName for record in records], ["k007", "nobody", "k003"])
    equal(records[1].serverErrorCode, "NOT_FOUND")
    equal([sorted(record.fields) for record in (records[0], records[2])], [["index"], ["index"]])


@check
def filters(gateway):
    """query: filters EQUALS, IN, BEGINS_WITH, ranges, lists, references; several are joined by AND"""
    red = [f"k{index:03}" for index in range(0, 200, 3)]
    equal(gateway.names(where("kind", "EQUALS", text("red"))), red)
    equal(gateway.names(where("index", "IN", {"type": "STRING_LIST", "value": []})), [])
    equal(gateway.names(where("kind", "IN", {"type": "STRING_LIST", "value": ["red", "pink"]})), red)
    equal(gateway.names(where("name", "BEGINS_WITH", text("name 19"))), [f"k{index}" for index in range(190, 200)])
    equal(gateway.names(where("index", "GREATER_THAN", number(2)), where("index", "LESS_THAN", number(5))), ["k003", "k004"])
    equal(gateway.names(where("index", "GREATER_THAN_OR_EQUALS", number(199))), ["k199"])
    equal(gateway.names(where("index", "LESS_THAN_OR_EQUALS", number(0))), ["k000"])
    equal(len(gateway.names(where("kind", "NOT_EQUALS", text("red")))), 200 - len(red))
    equal(len(gateway.names(where("colours", "LIST_CONTAINS", text("blue")))), 50)
    owner = {"type": "REFERENCE", "value": {"recordName": "n1", "action": "NONE"}}
    equal(len(gateway.names(where("owner", "EQUALS", owner))), 100)
    equal(gateway.names(where("kind", "EQUALS", text("no"))), [])
    refused("BAD_REQUEST", gateway.names, where("kind", "RESEMBLES", text("red")))


@check
def sorting(gateway):
    """query: sorts by one and by two keys, both ways; desired keys"""
    equal(gateway.names(sort=[by("index", False)])[:2], ["k199", "k198"])
    equal(gateway.names(sort=[by("kind"), by("index", False)])[:2], ["k197", "k194"])
    equal(gateway.names(sort=[by("kind", False), by("index")])[:2], ["k000", "k003"])
    equal({tuple(record.fields) for record in gateway.query(desired_keys=["kind"]).records}, {("kind",)})


@check
def continuation(gateway):
    """query: continuation markers lead from page to page, with and without filter and sort"""
    for filters, sort, total in [((), None, 200), ((where("kind", "EQUALS", text("red")),), [by("index", False)], 67)]:
        names, sizes, marker = [], [], None
        while marker or not sizes:
            page = gateway.query(*filters, sort=sort, results_limit=30, continuation=marker)
            names += [record.recordName for record in page.records]
            sizes.append(len(page.records))
            marker = page.continuationMarker
        equal(sizes, [30] * (total // 30) + [total % 30])
        equal(names, gateway.names(*filters, sort=sort))
    refused("BAD_REQUEST", gateway.query, continuation="nonsense")


@check
def zone_wide(gateway):
    """query, zone wide: finds the records of a zone that the query does not name"""
    query = models.CKQueryObject(recordType="Numbered")
    equal(len(gateway.client.query(query=query, zone_wide=True).records), 200)


# Changes


@check
def changes(gateway):
    """changes: sync tokens lead from page to page; each record is returned once"""
    pages = gateway.pages(limit=60)
    names = [record.recordName for page in pages for record in page.records]
    equal(([len(page.records) for page in pages], len(set(names))), ([60, 60, 60, 22], 202))
    equal([page.moreComing for page in pages], [True, True, True, False])
    gateway.token = pages[-1].syncToken
    equal(gateway.changed(gateway.token)[0], [])


@check
def changes_since(gateway):
    """changes: after a token, the updates and the tombstone in order; the token can be used again"""
    gateway.modify_one("forceUpdate", "k100", {"kind": text("pink")}, record_type="Numbered")
    gateway.modify_one("forceDelete", "k101", record_type="Numbered")
    gateway.modify_one("forceUpdate", "n1", {"count": number(7)})
    (page,) = gateway.pages(gateway.token)
    equal([record.recordName for record in page.records], ["k100", "k101", "n1"])
    equal(page.records[0].fields.kind.value, "pink")
    expect(isinstance(page.records[1], models.CKTombstoneRecord), page.records[1])
    equal(gateway.changed(gateway.token), (["k100", "k101", "n1"], page.syncToken))
    equal(gateway.changed(page.syncToken), ([], page.syncToken))


@check
def changes_selected(gateway):
    """changes: desired keys and record types, and in reverse"""
    (page,) = gateway.pages(gateway.token, desiredRecordTypes=["Note"], desiredKeys=["title"])
    equal([(record.recordName, len(record.fields)) for record in page.records], [("n1", 0)])
    (page,) = gateway.pages(gateway.token, reverse=True)
    equal([record.recordName for record in page.records], ["n1", "k101", "k100"])


@check
def bad_token(gateway):
    """changes, database_changes: an invalid token is refused"""
    refused("syncToken", gateway.pages, "AAAA")
    refused("BAD_REQUEST", gateway.client.database_changes, sync_token="AAAA")


@check
def changes_call(gateway):
    """changes: one page, with its zone"""
    zone = models.CKZoneChangesZoneReq(zoneID=models.CKZoneID(zoneName="Notes"))
    (page,) = gateway.client.changes(zone_req=zone, results_limit=1).zones
    equal((page.zoneID.zoneName, len(page.records), page.moreComing), ("Notes", 1, True))


@check
def database_changes(gateway):
    """database_changes: names the zone; after a token, names it only if it has changed"""
    def zones(token=None):
        answer = gateway.client.database_changes(sync_token=token)
        return [zone.zoneID.zoneName for zone in answer.zones], answer.syncToken
    names, token = zones()
    equal(names, ["Notes"])
    equal(zones(token)[0], [])
    gateway.modify_one("forceUpdate", "n1", {"count": number(8)})
    equal(zones(token)[0], ["Notes"])


@check
def query_sync_token(gateway):
    """query_sync_token: gives a token from which changes continues"""
    query = models.CKQueryObject(recordType="Numbered")
    token = gateway.client.query_sync_token(query=query, zone_id=ZONE)
    expect(token, "no syncToken in the answer to records/query")
    equal(gateway.changed(token)[0], [])
    gateway.modify_one("forceUpdate", "n1", {"count": number(9)})
    equal(gateway.changed(token)[0], ["n1"])


# Assets


def upload(gateway, name, data):
    token = gateway.client.upload_asset(
        record_type="Photo", field_name="file", record_name=name, data=data, zone_id=ZONE)
    value = token.model_dump(mode="json", exclude_none=True)
    return gateway.modify_one("create", name, {"file": {"type": "ASSETID", "value": value}}, record_type="Photo")


def download(gateway, record):
    url = record.fields.file.value.downloadURL
    expect(url, "no downloadURL in", record.fields.file.value)
    return gateway.client.download_asset_bytes(url)


@check
def asset(gateway):
    """upload_asset, modify, download_asset_bytes: the same bytes, after modify, lookup and query"""
    data = secrets.token_bytes(100_000)
    record = upload(gateway, "p1", data)
    equal(record.fields.file.value.size, len(data))
    expect(download(gateway, record) == data, "other bytes after modify")
    expect(download(gateway, gateway.look_up("p1")[0]) == data, "other bytes after lookup")
    expect(download(gateway, gateway.query(record_type="Photo").records[0]) == data, "other bytes after query")
    expect(b"".join(gateway.client.download_asset_stream(record.fields.file.value.downloadURL)) == data, "streamed")


@check
def asset_written_back(gateway):
    """modify: the asset value from a lookup can be saved again, in the same and in another record"""
    value = gateway.look_up("p1")[0].fields["file"].model_dump(mode="json", exclude_none=True)
    gateway.modify_one("forceUpdate", "p1", {"file": value}, record_type="Photo")
    record = gateway.modify_one("create", "p2", {"file": value}, record_type="Photo")
    equal(len(download(gateway, record)), 100_000)


@check
def asset_unknown(gateway):
    """modify: an asset that was never uploaded is refused"""
    value = {"fileChecksum": "0" * 64, "size": 3, "receipt": "0" * 32}
    fields = {"file": {"type": "ASSETID", "value": value}}
    refused("BAD_REQUEST", gateway.modify_one, "create", "p3", fields, record_type="Photo")


@check
def asset_large(gateway):
    """upload_asset: 20 MB"""
    data = secrets.token_bytes(20_000_000)
    expect(download(gateway, upload(gateway, "p4", data)) == data, "other bytes")


# The public database, a deleted zone, refused requests


@check
def public(gateway):
    """the public database: create, query, lookup, zones_list"""
    database = gateway.database("public")
    zone, name = models.CKZoneIDReq(zoneName="_defaultZone"), "shop-" + USER
    fields = {"owner": text(USER)}
    database.modify(operations=[operation("create", name, fields, record_type="Shop")], zone_id=zone)
    query = models.CKQueryObject(recordType="Shop", filterBy=[where("owner", "EQUALS", text(USER))])
    equal([record.recordName for record in database.query(query=query, zone_id=zone).records], [name])
    equal(database.lookup([name], zone_id=zone).records[0].fields.owner.value, USER)
    equal([zone.zoneID.zoneName for zone in database.zones_list().zones], ["_defaultZone"])


@check
def zone_delete(gateway):
    """zones/modify: deletes the zone; database_changes lists it as deleted; query and changes say ZONE_NOT_FOUND"""
    token = gateway.client.database_changes().syncToken
    zone = {"zoneID": ZONE.model_dump(exclude_none=True)}
    gateway.client.raw_post("/zones/modify", {"operations": [{"operationType": "delete", "zone": zone}]})
    (zone,) = gateway.client.database_changes(sync_token=token).zones
    equal((zone.zoneID.zoneName, zone.deleted), ("Notes", True))
    refused("ZONE_NOT_FOUND", gateway.query)
    refused("ZONE_NOT_FOUND", gateway.pages, gateway.token)


@check
def no_user(gateway):
    """without a user, a private database is refused"""
    client = cloudkit.CloudKitContainerClient(f"{gateway.root}/private", gateway.session, {})
    refused("AUTHENTICATION_REQUIRED", client.zones_list)


@check
def other_host(gateway):
    """a request with a foreign Host header is refused, so a web page cannot use the gateway through DNS rebinding"""
    url = f"{gateway.root}/private/users/current?ckWebAuthToken={USER}"
    answer = gateway.session.get(url, headers={"Host": "evil.example"})
    equal((answer.status_code, answer.json().get("serverErrorCode")), (403, "ACCESS_DENIED"))


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the gateway, with the header that says that they came over TLS."""

    protocol_version = "HTTP/1.1"
    gateway = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(self.gateway)
        headers = {**self.headers, "X-Forwarded-Proto": "https", "Connection": "close"}
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except OSError as error:
            answer, content = None, str(error).encode()
        finally:
            connection.close()
        self.send_response(answer.status if answer else 502)
        for name, value in answer.getheaders() if answer else []:
            if name.lower() not in ("connection", "content-length", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


def start_proxy(gateway, folder):
    """Starts the proxy. Returns its address and the file of its certificate."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("GatewayProxy", (Proxy,), {"gateway": gateway}))
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://localhost:{server.server_address[1]}", certificate


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: web_clients.py http://HOST:PORT")
    address = sys.argv[1].rstrip("/")
    session = requests.Session()
    session.trust_env = False
    with tempfile.TemporaryDirectory() as folder:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme == "http":
            address, session.verify = start_proxy(parts.netloc, folder)
        gateway = Gateway(address, session)
        for function in CHECKS:
            try:
                function(gateway)
            except Exception as error:  # Any exception means that the check failed.
                print(f"FAILED {function.__doc__}\n{type(error).__name__}: {error}", flush=True)
                payload = getattr(error, "payload", None)
                if payload:
                    print(f"the gateway answered {payload}"[:2000], flush=True)
                return 1
            print(f"ok  {function.__doc__}", flush=True)
    print(f"{len(CHECKS)} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
