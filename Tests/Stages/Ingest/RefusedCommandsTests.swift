import Ingest
import PipelineKit
import Testing

struct RefusedCommandsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let command: String
        let rejection: Rejection

        init(_ command: String, _ code: String, at path: String, _ reason: String) {
            self.command = command
            rejection = Rejection(code: code, reason: reason, path: path)
        }

        var testDescription: String { "\(rejection.path) \(rejection.code)" }
    }

    static let place = Example.place
    static let notATime = #" is not a time in RFC 3339 from 1970 to 9999, such as "2026-01-31T12:00:00.5Z""#

    static let commands = [
        Row("{}", "member.missing", at: "type", "type is required: add it"),
        Row(#"{"type":7}"#, "member.kind", at: "type", "a command's type must be a string, but this is a number"),
        Row(
            #"{"type":"record.saev"}"#, "word.unknown", at: "type",
            #"a command's type cannot be "record.saev": did you mean "record.save"?"#),
        Row(
            #"{"type":"push"}"#, "word.unknown", at: "type",
            #"a command's type cannot be "push": use record.save, record.delete, records.modify, zone.save, "#
                + "zone.delete, subscription.save, subscription.delete, device.register, device.unregister, badge.set "
                + "or push.redrive"),
        Row(
            #"{"type":"badge.set",\#(place),"user":"_alice"}"#, "member.missing", at: "badge",
            "badge is required: add it"),
        Row(
            #"{"type":"badge.set",\#(place),"user":"_alice","badge":"3"}"#, "member.kind", at: "badge",
            "a badge must be a number, but this is a string"),
        Row(
            #"{"type":"badge.set",\#(place),"user":"_alice","badge":-1}"#, "badge.range", at: "badge",
            "a badge must be a whole number from 0 to 2147483647, but this is -1; 0 removes the badge from the icon"),
        Row(
            #"{"type":"badge.set",\#(place),"user":"_alice","topic":"","badge":1}"#, "name.length", at: "topic",
            "a topic has 1 to 255 bytes, not 0"),
        Row(#"{"type":"record.save"}"#, "member.missing", at: "container", "container is required: add it"),
        Row(
            #"{"type":"record.save","container":"com.example"}"#, "member.missing", at: "environment",
            "environment is required: add it"),
        Row(
            #"{"type":"record.save","container":"com.example","environment":"development"}"#, "container.prefix",
            at: "container",
            #""com.example" is not a container: write "iCloud." and a name, as in iCloud.com.example.App"#),
        Row(
            #"{"type":"record.save","container":"iCloud.","environment":"development"}"#, "container.prefix",
            at: "container",
            #""iCloud." is not a container: write "iCloud." and a name, as in iCloud.com.example.App"#),
        Row(
            #"{"type":"record.save","container":"iCloud.a b","environment":"development"}"#, "name.characters",
            at: "container", #"a container is ASCII letters, digits, '.', '-' and '_', which "iCloud.a b" is not"#),
        Row(
            #"{"type":"record.save","container":"iCloud.a","environment":"developement"}"#, "word.unknown",
            at: "environment", #"an environment cannot be "developement": did you mean "development"?"#),
        Row(
            Example.save(database: "privat"), "word.unknown", at: "database",
            #"a database cannot be "privat": did you mean "private"?"#),
        Row(Example.save(owner: ""), "name.length", at: "owner", "a user's record name has 1 to 255 bytes, not 0"),
        Row(
            Example.save().adding(#","databse":"public""#), "member.unknown", at: "databse",
            #"record.save has no member "databse": did you mean "database"?"#),
        Row(
            Example.register().adding(#","database":"public""#), "member.unknown", at: "database",
            #"device.register has no member "database": "#
                + "use type, container, environment, user, device, transport, token, topic, time or request"),
    ]

    private static func redrive(_ old: String, _ new: String) -> String {
        Example.redrive().replacing(old, with: new)
    }

    static let redrives = [
        Row(redrive(#""device":"alice-phone","#, ""), "member.missing", at: "device", "device is required: add it"),
        Row(
            redrive(#""redriveOf":{"log":"pushes","sequence":3},"#, ""), "member.missing", at: "redriveOf",
            "redriveOf is required: add it"),
        Row(
            redrive(#""sequence":3}"#, #""sequence":0}"#), "position.sequence", at: "redriveOf.sequence",
            "a sequence must be a whole number from 1 on, but this is 0"),
        Row(
            redrive(#""log":"pushes""#, #""log":"a b""#), "name.characters", at: "redriveOf.log",
            #"a log's name is ASCII letters, digits, '.', '-' and '_', which "a b" is not"#),
        Row(
            redrive(#""type":"push","#, #""type":"match","#), "word.unknown", at: "push.type",
            #"a push's type cannot be "match": use push"#),
        Row(
            redrive(#""user":"_alice","subscriptionID""#, #""user":"_bob","subscriptionID""#), "member.conflict",
            at: "push.user",
            "user differs between the push and the command: redrive a push only for its own user, in its own container "
                + "and environment"),
        Row(
            redrive(#""payload":{"aps""#, #""paylod":{"aps""#), "member.unknown", at: "push.paylod",
            #"a push has no member "paylod": did you mean "payload"?"#),
        Row(
            redrive(#""apns-push-type":"alert""#, #""apns-id":"1""#), "member.unknown", at: "push.headers.apns-id",
            "deliver writes apns-id itself: leave apns-id out"),
        Row(
            redrive(#""apns-priority":"10""#, #""apns-priority":10"#), "member.kind",
            at: "push.headers.apns-priority", "a header must be a string, but this is a number"),
        Row(
            redrive(#""apns-priority":"10""#, #""apns-priority":"1\n0""#), "name.characters",
            at: "push.headers.apns-priority",
            "a header is printable ASCII without a space at its ends, fit for an HTTP header, which \"1\\u{a}0\" is not"
        ),
        Row(
            redrive(#""payload":{"aps":{"alert":"Hi"}}"#, #""payload":[]"#), "member.kind", at: "push.payload",
            "a payload must be an object, but this is an array"),
        Row(
            redrive(#""causes":["#, #""payloadByTopic":{"a":1},"causes":["#), "member.kind",
            at: "push.payloadByTopic.a", "a payload must be an object, but this is a number"),
        Row(
            redrive(#""sequence":17}]"#, #""sequence":17},{}]"#), "member.missing", at: "push.causes[1].log",
            "log is required: add it"),
        Row(
            Example.redrive().adding(#","token":"6a0f""#), "member.unknown", at: "token",
            #"push.redrive has no member "token": "#
                + "use type, container, environment, user, device, redriveOf, push or time"),
    ]

    static let devices = [
        Row(
            Example.register(#""token":"t","topic":"t""#), "member.missing", at: "transport",
            "transport is required: add it"),
        Row(
            Example.register(#""transport":"apns","topic":"t""#), "member.missing", at: "token",
            "token is required: add it"),
        Row(
            Example.register(#""transport":"apns","token":"t""#), "member.missing", at: "topic",
            "topic is required: add it"),
        Row(
            Example.register(#""transport":"apns","token":"t","topic":"a\nb""#), "name.characters", at: "topic",
            "a topic is printable ASCII without a space at its ends, fit for an HTTP header, which \"a\\u{a}b\" is not"),
        Row(
            Example.register(#""transport":"a b","token":"t","topic":"t""#), "name.characters", at: "transport",
            #"a transport's name is ASCII letters, digits, '.', '-' and '_', which "a b" is not"#),
        Row(
            Example.register(#""transport":"apns","token":17,"topic":"t""#), "member.kind", at: "token",
            "a token must be a string, but this is a number"),
        Row(
            #"{"type":"device.unregister",\#(place),"user":"_a"}"#, "member.missing", at: "device",
            "device is required: add it"),
        Row(
            #"{"type":"device.unregister",\#(place),"user":"é","device":"d"}"#, "name.characters", at: "user",
            #"a user's record name is printable ASCII, which "é" is not"#),
    ]

    static let records = [
        Row(
            #"{"type":"record.save",\#(place),"database":"shared","record":{}}"#, "member.missing", at: "owner",
            "owner is missing: add the record name of the user whose shared database this is"),
        Row(
            #"{"type":"record.save",\#(place),"database":"public"}"#, "member.missing", at: "record",
            "record is required: add it"),
        Row(
            #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"n"}}"#, "member.missing",
            at: "record.recordType", "recordType is required: add it"),
        Row(
            Example.save(fields: #"{"n":{"value":"1","type":"INT64"}}"#), "field.value", at: "record.fields.n.value",
            "an INT64 must be a whole number from -9223372036854775808 to 9223372036854775807, "
                + "written without fraction or exponent, but this is a string"),
        Row(
            Example.save(zone: ""), "name.length", at: "record.zoneID.zoneName",
            "a zone name has 1 to 255 bytes, not 0"),
        Row(
            Example.save().replacing(#""zoneName":"Notes""#, with: #""zoneName":"Notes","ownerRecordName":"_bob""#),
            "zone.owner", at: "record.zoneID.ownerRecordName",
            #"a private database's zones belong to its user, "_alice": name that user or leave the owner out"#),
        Row(
            Example.save().replacing(#""zoneName":"Notes""#, with: #""zoneName":"Notes","ownerName":"_bob""#),
            "zone.owner", at: "record.zoneID.ownerName",
            #"a private database's zones belong to its user, "_alice": name that user or leave the owner out"#),
        Row(
            Example.save(also: #","origin":{"device":"d"}"#), "member.missing", at: "origin.user",
            "user is required: add it"),
        Row(
            Example.save(also: #","origin":{"user":"_a","devise":"d"}"#), "member.unknown", at: "origin.devise",
            #"an origin has no member "devise": did you mean "device"?"#),
        Row(
            Example.save(also: #","change":"delete""#), "record.change", at: "change",
            #"change is "delete", but a record.save only creates or updates: send record.delete instead"#),
        Row(
            Example.delete(also: #","change":"update""#), "record.change", at: "change",
            #"change is "update", but a record.delete only deletes: leave change out, or send record.save"#),
        Row(
            Example.save(also: #","change":"updated""#), "word.unknown", at: "change",
            #"a change cannot be "updated": did you mean "update"?"#),
        Row(
            Example.save(also: #","change":"create","before":{}"#), "member.conflict", at: "before",
            #"change is "create", and a new record had no earlier fields: leave out "before""#),
        Row(
            Example.save(also: #","before":{"a":{"type":"STRING"}}"#), "member.missing", at: "before.a.value",
            "value is required: if a field has no value, leave the field out"),
        Row(
            Example.delete(also: #","before":[]"#), "member.kind", at: "before",
            "a dictionary of fields must be an object, but this is an array"),
        Row(Example.save(also: #","time":"yesterday""#), "time.format", at: "time", #""yesterday""# + notATime),
        Row(Example.save(also: #","time":1769860800"#), "time.format", at: "time", "a number" + notATime),
        Row(
            Example.save(also: #","time":"2026-02-30T00:00:00Z""#), "time.format", at: "time",
            #""2026-02-30T00:00:00Z""# + notATime),
    ]

    static let subscriptions = [
        Row(
            #"{"type":"subscription.save",\#(place),"database":"private","user":"_a"}"#, "member.missing",
            at: "subscription", "subscription is required: add it"),
        Row(
            #"{"type":"subscription.delete",\#(place),"database":"private","user":"_a"}"#, "member.missing",
            at: "subscriptionID", "subscriptionID is required: add it"),
        Row(
            Example.subscribe(#"{"subscriptionID":"s","subscriptionType":"database"}"#, database: "public"),
            "subscription.scope", at: "subscription.subscriptionType",
            "a database subscription cannot be in a public database: "
                + "save it in a private or shared database, or let ingest accept it with subscriptionsInAnyDatabase: true"
        ),
        Row(
            Example.subscribe(
                #"{"subscriptionID":"s","subscriptionType":"database","notificationInfo":{"desiredKeys":["a","b","c","d"]}}"#
            ),
            "notification.desired_keys", at: "subscription.notificationInfo.desiredKeys[3]",
            "a notification carries at most 3 desired keys, not 4: take some out"),
        Row(
            Example.subscribe(
                #"{"subscriptionID":"s","subscriptionType":"zone","zoneID":{"zoneName":"Z","ownerRecordName":"_bob"}}"#),
            "zone.owner", at: "subscription.zoneID.ownerRecordName",
            #"a private database's zones belong to its user, "_alice": name that user or leave the owner out"#),
    ]

    @Test(arguments: [commands, devices, redrives, records, subscriptions].flatMap { $0 })
    func `the answer to an invalid command has code, path and reason`(row: Row) throws {
        var door = try Door()
        #expect(try door.send(row.command) == row.rejection)
        #expect(door.log.isEmpty)
    }

    @Test(arguments: [
        (#""filterBy":[{"comparator":"LIKE","fieldName":"a","fieldValue":{"value":1}}]"#, "filterBy[0].comparator"),
        (#""predicate":"title BEGINSWITH""#, "predicate"),
        (#""predicate":"a == %@","arguments":[]"#, "predicate"),
        (#""predicate":"a == 1","arguments":[1]"#, "arguments[0]"),
    ])
    func `the answer to an invalid predicate has the path of the invalid part`(member: String, path: String) throws {
        var door = try Door()
        let rejection = try door.send(Example.query(#"{"recordType":"Note",\#(member)}"#))
        #expect(rejection?.path == "subscription.query." + path)
        #expect(rejection?.code.hasPrefix("predicate.") == true)
    }

    @Test func `the answer to an invalid predicate has a caret under the error`() throws {
        var door = try Door()
        let rejection = try door.send(Example.query(#"{"recordType":"Note","predicate":"a == 1 OR b == 2"}"#))
        #expect(rejection?.reason.hasSuffix("(at byte 7 of the predicate)\na == 1 OR b == 2\n       ^") == true)
    }
}
