import Foundation
import TestSupport

/// Commands that give every stage some state: records, subscriptions that fire once, badges, devices.
///
/// All notifications are visible and have no collapse ID, so the result does not depend on when a stage ran.
struct Workload {
    private(set) var commands: [String] = []
    private var random: Seeded
    private var privateRecords: [String] = []

    init(seed: UInt64, changes: Int) {
        random = Seeded(seed)
        for user in 0..<Workload.users { register(user) }
        for user in 0..<Workload.users { subscribe(user) }
        for number in 0..<changes {
            if random.isOneIn(40) { addDevice(number) }
            privateRecords.isEmpty || !random.isOneIn(10) ? save(number) : delete()
        }
    }

    private static let users = 8
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private mutating func register(_ user: Int) {
        for device in 0...random.below(3) { addDevice("device-\(device)", to: user) }
    }

    private mutating func addDevice(_ number: Int) { addDevice("late-\(number)", to: random.below(Workload.users)) }

    private mutating func addDevice(_ device: String, to user: Int) {
        commands.append(
            """
            {"type":"device.register",\(Workload.place),"user":"_user\(user)","device":"\(device)",\
            "transport":"apns","token":"\(Self.token(user, device))","topic":"com.example.Notes"}
            """)
    }

    /// Hexadecimal digits, as in APNs tokens.
    private static func token(_ user: Int, _ device: String) -> String {
        "\(user)-\(device)".utf8.map { String(format: "%02x", $0) }.joined()
    }

    private mutating func subscribe(_ user: Int) {
        let info = #""notificationInfo":{"alertBody":"A note","shouldBadge":true}"#
        subscription(
            user, "private",
            #""subscriptionID":"zone","subscriptionType":"zone","zoneID":{"zoneName":"Notes"},\#(info)"#)
        subscription(user, "public", query("some", #""predicate":"stars > \#(3 + random.below(5))""#, info))
        subscription(user, "public", query("once", #""predicate":"stars == 9""#, #""firesOnce":true,"# + info))
    }

    private func query(_ id: String, _ predicate: String, _ rest: String) -> String {
        """
        "subscriptionID":"\(id)","subscriptionType":"query","query":{"recordType":"Note",\(predicate)},\
        "firesOn":["create","update"],\(rest)
        """
    }

    private mutating func subscription(_ user: Int, _ database: String, _ body: String) {
        commands.append(
            """
            {"type":"subscription.save",\(Workload.place),"database":"\(database)","user":"_user\(user)",\
            "subscription":{\(body)}}
            """)
    }

    private mutating func save(_ number: Int) {
        let name = "n\(random.below(400))"
        let stars = random.below(10)
        let note =
            #""fields":{"title":{"value":"Note \#(number)","type":"STRING"},"stars":{"value":\#(stars),"type":"INT64"}}"#
        let user = "_user\(random.below(Workload.users))"
        guard random.isOneIn(3) else {
            return commands.append(
                """
                {"type":"record.save",\(Workload.place),"database":"public",\
                "record":{"recordName":"\(name)","recordType":"Note",\(note)}}
                """)
        }
        privateRecords.append(record(name, user))
        commands.append(
            """
            {"type":"record.save",\(Workload.place),"database":"private","owner":"\(user)",\
            "origin":{"user":"\(user)","device":"device-0"},"record":{\(record(name, user)),\(note)}}
            """)
    }

    private func record(_ name: String, _ user: String) -> String {
        #""recordName":"\#(name)","recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"\#(user)"}"#
    }

    private mutating func delete() {
        let record = privateRecords.remove(at: random.below(privateRecords.count))
        let owner = record.split(separator: "\"").last { $0.hasPrefix("_user") } ?? "_user0"
        commands.append(
            """
            {"type":"record.delete",\(Workload.place),"database":"private","owner":"\(owner)","record":{\(record)}}
            """)
    }
}
