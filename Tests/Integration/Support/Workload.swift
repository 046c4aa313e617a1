import TestSupport
import Time

/// Random commands from a seed, in the order of their times.
///
/// They save silent and visible subscriptions of all three types, with and without collapse IDs. They delete
/// subscriptions, register and unregister devices, set badges, and create, update and delete records.
struct Workload {
    private(set) var commands: [String] = []
    private var random: Seeded
    private var now = Instant(microseconds: 1_767_225_600_000_000)
    private let records: Int
    private static let users = 5
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    /// - Parameter records: The number of records in each database. With few records, each record is soon saved again.
    init(seed: UInt64, length: Int, records: Int = 12) {
        random = Seeded(seed)
        self.records = records
        for user in 0..<Workload.users {
            register(user)
            subscribe(user)
        }
        for _ in 0..<length { addRandomCommand() }
    }

    private mutating func add(_ type: String, _ rest: String) {
        now = now.advanced(by: .milliseconds([0, 0, 1, 40, 300, 900, 2_500][random.below(7)]))
        commands.append(#"{"type":"\#(type)","time":"\#(now.rfc3339)",\#(Workload.place),\#(rest)}"#)
    }

    private mutating func addRandomCommand() {
        let user = random.below(Workload.users)
        switch random.below(20) {
        case 0: register(user)
        case 1: add("device.unregister", #""user":"_u\#(user)","device":"d\#(random.below(3))""#)
        case 2: subscribe(user)
        case 3:
            add(
                "subscription.delete",
                #""database":"private","user":"_u\#(user)","subscriptionID":"s\#(random.below(4))""#)
        case 4...6: add("record.delete", record(of: user, ""))
        case 7: setBadge(user)
        default: add("record.save", record(of: user, #","fields":{\#(fields())}"#))
        }
    }

    private mutating func register(_ user: Int) {
        let name = "d\(random.below(3))"
        add(
            "device.register",
            #""user":"_u\#(user)","device":"\#(name)","transport":"apns","token":"\#(user)\#(name)","topic":"com.example.Notes""#
        )
    }

    private mutating func setBadge(_ user: Int) {
        let topic = ["", #","topic":"com.example.Notes""#, #","topic":"com.example.Other""#][random.below(3)]
        add("badge.set", #""user":"_u\#(user)"\#(topic),"badge":\#(random.below(3))"#)
    }

    private mutating func subscribe(_ user: Int) {
        let infos = [
            #"{"alertBody":"Changed","shouldBadge":true}"#, #"{"shouldSendContentAvailable":true}"#,
            #"{"alertBody":"Changed","collapseIDKey":"c\#(random.below(2))","desiredKeys":["title"]}"#,
        ]
        let kinds = [
            (#""private""#, #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"}"#),
            (#""private""#, #""subscriptionType":"database""#),
            (
                #""public""#,
                #""subscriptionType":"query","query":{"recordType":"Note","predicate":"stars >= \#(random.below(8))"},"#
                    + #""firesOn":["create","update","delete"],"firesOnce":\#(random.below(4) == 0)"#
            ),
        ]
        let (database, kind) = kinds[random.below(3)]
        let info = infos[random.below(3)]
        // Each database has IDs of its own, so no subscription moves. A move would make two events from one command.
        let prefix = database.contains("public") ? "q" : "s"
        add(
            "subscription.save",
            #""database":\#(database),"user":"_u\#(user)","subscription":{"subscriptionID":"\#(prefix)\#(random.below(4))",\#(kind),"notificationInfo":\#(info)}"#
        )
    }

    private mutating func record(of user: Int, _ fields: String) -> String {
        let record = #""recordName":"r\#(random.below(records))","recordType":"Note""#
        guard random.below(2) == 0 else { return #""database":"public","record":{\#(record)\#(fields)}"# }
        return """
            "database":"private","owner":"_u\(user)","origin":{"user":"_u\(user)","device":"d\(random.below(3))"},\
            "record":{\(record),"zoneID":{"zoneName":"Notes","ownerRecordName":"_u\(user)"}\(fields)}
            """
    }

    private mutating func fields() -> String {
        #""title":{"value":"T\#(random.below(1_000))","type":"STRING"},"stars":{"value":\#(random.below(10)),"type":"INT64"}"#
    }
}
