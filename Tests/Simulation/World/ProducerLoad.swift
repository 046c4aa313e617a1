import TestSupport

/// The lines of one producer: commands for its own users and records, and some lines that the door refuses.
struct ProducerLoad {
    private(set) var lines: [String] = []
    /// The events that the log of changes must contain, in order. Ingest may add members at the end of an event.
    private(set) var expectedEvents: [String] = []
    /// The numbers of the lines that the door refuses.
    private(set) var refusedLines: Set<Int> = []
    private var random: Seeded
    private let name: String
    private static let users = 3
    /// The members that name the container and its environment.
    private static let container = #""container":"iCloud.com.example.Notes","environment":"development""#

    init(_ name: String, seed: UInt64, length: Int) {
        self.name = name
        random = Seeded(seed)
        for user in 0..<ProducerLoad.users {
            registerDevice(user)
            subscribe(user)
        }
        for _ in 0..<length { addRandomLine() }
    }

    /// The database of each subscription, by user and subscription ID.
    private var databases: [String: String] = [:]

    private static func line(_ type: String, _ rest: String) -> String {
        #"{"type":"\#(type)",\#(container),\#(rest)}"#
    }

    private mutating func add(_ type: String, _ rest: String) {
        lines.append(ProducerLoad.line(type, rest))
        expectedEvents.append(ProducerLoad.line(type, rest))
    }

    private mutating func addSubscription(_ number: Int, _ database: String, _ rest: String) {
        let id = "s\(random.below(3))"
        let key = #""user":"\#(user(number))","subscriptionID":"\#(id)""#
        // If a save moves a subscription to another database, ingest first writes a `subscription.delete`
        // for the old database.
        if let former = databases.updateValue(database, forKey: key), former != database {
            expectedEvents.append(ProducerLoad.line("subscription.delete", #""database":"\#(former)",\#(key)"#))
        }
        add(
            "subscription.save",
            #""database":"\#(database)","user":"\#(user(number))","subscription":{"subscriptionID":"\#(id)",\#(rest)}"#)
    }

    private mutating func unsubscribe(_ number: Int) {
        let key = #""user":"\#(user(number))","subscriptionID":"s\#(random.below(3))""#
        if databases[key] == "private" { databases[key] = nil }
        add("subscription.delete", #""database":"private",\#(key)"#)
    }

    private mutating func addRandomLine() {
        let user = random.below(ProducerLoad.users)
        switch random.below(24) {
        case 0: registerDevice(user)
        case 1: add("device.unregister", #""user":"\#(self.user(user))","device":"d\#(random.below(3))""#)
        case 2: subscribe(user)
        case 3: unsubscribe(user)
        case 4...6: add("record.delete", recordMembers(user, ""))
        case 7: addRefusedLine()
        case 8: setBadge(user)
        case 9: redrive(user)
        default: add("record.save", recordMembers(user, #","fields":{\#(fields())}"#))
        }
    }

    private func user(_ number: Int) -> String { "_\(name)u\(number)" }

    private mutating func addRefusedLine() {
        lines.append(random.isOneIn(2) ? "not json from \(name)" : #"{"type":"record.save","from":"\#(name)"}"#)
        refusedLines.insert(lines.count)
    }

    private mutating func registerDevice(_ number: Int) {
        let transport = random.one(of: ["apns", "apns", "courier", "pigeon"])
        let device = "d\(random.below(3))"
        add(
            "device.register",
            #""user":"\#(user(number))","device":"\#(device)","transport":"\#(transport)","token":"\#(name)\#(number)\#(device)","#
                + #""topic":"com.example.Notes""#)
    }

    /// Redrives a push that was never in a log.
    private mutating func redrive(_ number: Int) {
        let collapse = random.one(of: ["", #","apns-collapse-id":"c0""#])
        let (user, position) = (self.user(number), 1 + random.below(100))
        add(
            "push.redrive",
            #""user":"\#(user)","device":"d\#(random.below(3))","redriveOf":{"log":"pushes","sequence":\#(position)},"#
                + #""push":{"type":"push","notificationID":"old \#(position)",\#(ProducerLoad.container),"user":"\#(user)","#
                + #""headers":{"apns-push-type":"alert"\#(collapse)},"payload":{"aps":{"alert":"Old"}},"causes":[]}"#)
    }

    private mutating func setBadge(_ number: Int) {
        let topic = random.one(of: ["", #","topic":"com.example.Notes""#, #","topic":"com.example.Other""#])
        add("badge.set", #""user":"\#(user(number))"\#(topic),"badge":\#(random.below(3))"#)
    }

    private mutating func subscribe(_ number: Int) {
        let info = random.one(of: [
            #"{"alertBody":"Changed","shouldBadge":true}"#, #"{"shouldSendContentAvailable":true}"#,
            #"{"alertBody":"Changed","collapseIDKey":"c\#(random.below(2))","desiredKeys":["title"]}"#,
        ])
        let (database, kind) = random.one(of: [
            ("private", #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"}"#),
            ("private", #""subscriptionType":"database""#),
            (
                "public",
                #""subscriptionType":"query","query":{"recordType":"Note","predicate":"stars >= \#(random.below(8))"},"#
                    + #""firesOn":["create","update","delete"],"firesOnce":\#(random.isOneIn(4))"#
            ),
        ])
        addSubscription(number, database, #"\#(kind),"notificationInfo":\#(info)"#)
    }

    private mutating func recordMembers(_ number: Int, _ fields: String) -> String {
        let record = #""recordName":"\#(name)r\#(random.below(8))","recordType":"Note""#
        let user = user(number)
        guard random.isOneIn(3) else { return #""database":"public","record":{\#(record)\#(fields)}"# }
        return """
            "database":"private","owner":"\(user)","origin":{"user":"\(user)","device":"d\(random.below(3))"},\
            "record":{\(record),"zoneID":{"zoneName":"Notes","ownerRecordName":"\(user)"}\(fields)}
            """
    }

    private mutating func fields() -> String {
        #""title":{"value":"T\#(lines.count)","type":"STRING"},"stars":{"value":\#(random.below(10)),"type":"INT64"}"#
    }
}
