import Testing

@testable import Ingest

struct AcceptedCommandsTests {
    static let commands = [
        Example.register(),
        Example.register(#""transport":"webhook","token":"https://example.com/hook?id=1","topic":"com.example.Notes""#),
        #"{"type":"device.unregister",\#(Example.place),"user":"_alice","device":"Alice’s phone"}"#,
        Example.redrive(),
        Example.redrive().replacing(
            #""causes":["#, with: #""payloadByTopic":{"a":{}},"unpruned":{},"origin":null,"causes":["#),
        #"{"type":"badge.set",\#(Example.place),"user":"_alice","badge":0}"#,
        #"{"type":"badge.set",\#(Example.place),"user":"_alice","topic":"com.example.Notes","badge":2147483647}"#,
        Example.subscribe(#"{"subscriptionID":"all","subscriptionType":"database"}"#),
        Example.subscribe(#"{"subscriptionID":"all","subscriptionType":"zone","zoneWide":true}"#, database: "shared"),
        Example.subscribe(
            #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"N","ownerRecordName":"_alice"}}"#),
        Example.subscribe(
            #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"N","ownerName":"__defaultOwner__"}}"#
        ),
        Example.query(#"{"recordType":"Note"}"#),
        Example.query(#"{"recordType":"Note","predicate":"title BEGINSWITH 'H' AND stars > 3"}"#),
        Example.query(
            #"{"recordType":"Note","predicate":"self CONTAINS %@ AND %K == 'x'","arguments":["a b","recordID"]}"#),
        Example.query(
            #"{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":1,"type":"INT64"}}]}"#
        ),
        #"{"type":"subscription.delete",\#(Example.place),"database":"public","user":"_alice","subscriptionID":"feed"}"#,
    ]

    @Test(arguments: commands)
    func `an accepted command that does not change a record is logged unchanged`(command: String) throws {
        var door = try Door()
        #expect(try door.send(command) == nil)
        #expect(door.log == [command])
    }

    @Test func `the logged event of a record.save command ends with the change member`() throws {
        var door = try Door()
        let origin = #","origin":{"user":"_alice","device":"alice-mac"}"#
        try door.send(Example.save(also: origin))
        #expect(door.log == [Example.save(also: origin + #","change":"create""#)])
    }

    @Test(arguments: [
        (#"{"time":"2026-01-31T12:00:00Z","type":"x"}"#, #"{"type":"x"}"#),
        (#"{"type":"x","time":"2026-01-31T12:00:00Z"}"#, #"{"type":"x"}"#),
        (#"{ "type" : "x" , "time" : "2026-01-31t12:00:00.25+01:00" }"#, #"{"type" : "x" }"#),
    ])
    func `the time member is removed wherever it stands`(written: String, logged: String) throws {
        let rest = #","container":"iCloud.a","environment":"production","user":"_a","device":"d""#
        var door = try Door()
        let type = #""device.unregister""#
        #expect(try door.send(written.replacing(#""x""#, with: type).adding(rest)) == nil)
        #expect(door.log == [logged.replacing(#""x""#, with: type).adding(rest)])
        let unregister = #"{"type":"device.unregister"}"#.adding(rest)
        #expect(try door.send(unregister.adding(#","time":"2026-01-31T12:00:00Z""#)) == nil)
        #expect(door.log.last == unregister)
    }

    @Test func `the change member of a command moves to the end, and all other bytes stay unchanged`() throws {
        var door = try Door()
        let fields =
            #"{ "t":{"value" : "\u0041\/\ud83d\ude00 é", "type":"STRING"},"d":{"value":1.50e+0,"type":"DOUBLE"} }"#
        let (before, after) = (#"{"change":"update" ,  "type":"record.save","#, #"{"type":"record.save","#)
        let command = Example.save(fields: fields)
        try door.send(command.replacing(after, with: before))
        #expect(door.log == [command.adding(#","change":"update""#)])
    }

    @Test func `a setting allows extended predicates`() throws {
        let command = Example.query(#"{"recordType":"Note","predicate":"a == 1 OR ALL b > %@","arguments":[2]}"#)
        var strict = try Door()
        #expect(try strict.send(command)?.code == "predicate.unsupported")
        var open = try Door(IngestSettings(predicates: .extended))
        #expect(try open.send(command) == nil)
    }

    /// A changed setting applies to later saves. Match still accepts the older saves in the log.
    @Test func `a stage without extended predicates continues a log that contains such predicates`() throws {
        let command = Example.query(#"{"recordType":"Note","predicate":"a == 1 OR ALL b > 2"}"#)
        var strict = try Door(recalling: [command])
        let refused = try strict.send(command)
        #expect(refused?.code == "predicate.unsupported" && refused?.path == "subscription.query.predicate")
        #expect(refused?.reason.hasSuffix("a == 1 OR ALL b > 2\n       ^") == true)
        #expect(try strict.send(Example.query(#"{"recordType":"Note","predicate":"a == 1"}"#)) == nil)
    }

    @Test func `a setting allows subscriptions in any database`() throws {
        let command = Example.subscribe(#"{"subscriptionID":"s","subscriptionType":"database"}"#, database: "public")
        var strict = try Door()
        #expect(try strict.send(command)?.code == "subscription.scope")
        var open = try Door(IngestSettings(subscriptionsInAnyDatabase: true))
        #expect(try open.send(command) == nil)
    }
}
