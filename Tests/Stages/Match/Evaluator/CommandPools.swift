import TestSupport

/// The values of random commands. The pools are small, so that subscriptions and changes match often.
struct CommandPools: Sendable {
    var containers = ["iCloud.c", "iCloud.c", "iCloud.c", "iCloud.c", "iCloud.other"]
    var environments = ["production", "production", "production", "production", "development"]
    var databases = ["public", "public", "private", "shared"]
    var users = ["_a", "_a", "_b"]
    var types = ["Note", "Note", "Task"]
    var zones = ["_defaultZone", "Y", "Z"]
    var subscriptionKinds = ["query", "query", "query", "query", "query", "zone", "database", "zoneWide"]
    /// The number of subscription IDs. If there are few, a save often replaces an earlier subscription.
    var ids = 30
    /// On average, one query in this many has no clause.
    var queriesPerEmptyQuery = 12

    /// Pools with several scopes, record types and zones.
    static let wide = CommandPools()

    /// Pools with one scope and one record type, so that the index has long lists.
    static let crowded = CommandPools(
        containers: ["iCloud.c"], environments: ["production"], databases: ["public"], types: ["Note"],
        zones: ["_defaultZone"], subscriptionKinds: ["query"], ids: 400, queriesPerEmptyQuery: 200)
}

/// A field of random subscriptions and records. The lists below have the possible values.
struct RandomField {
    enum Kind { case texts, numbers, bytes, references, locations, assets, textLists, numberLists, referenceLists }

    let name: String
    let kind: Kind

    /// All fields. If a field is listed twice, comparisons with it are twice as likely, and fewer records lack it.
    static let all = [
        RandomField(name: "s", kind: .texts), RandomField(name: "s", kind: .texts),
        RandomField(name: "t", kind: .texts),
        RandomField(name: "n", kind: .numbers), RandomField(name: "n", kind: .numbers),
        RandomField(name: "m", kind: .numbers), RandomField(name: "b", kind: .bytes),
        RandomField(name: "r", kind: .references), RandomField(name: "p", kind: .locations),
        RandomField(name: "f", kind: .assets), RandomField(name: "ls", kind: .textLists),
        RandomField(name: "ln", kind: .numberLists), RandomField(name: "lr", kind: .referenceLists),
    ]

    static let texts = [
        "a", "A", "ab", "Abc", "b", "", "ä", "Ä", "it's", "the Café x2", "x2 bar", "日本 x", "a \\\"q\\\"",
    ]
    static let numbers = [
        "0", "1", "2", "3", "1.0", "1.5", "-1", "2.0", "9007199254740993", "9007199254740992.0", "-0.0",
        "9223372036854775807", "-9223372036854775808", "1e300",
    ]
    static let bytes = ["", "QQ==", "QUI=", "QUJD", "+/+/"]
    /// The names of records and users, and so the values of references.
    static let names = ["_a", "_b", "r1", "R1"]
    static let locations = [
        (0.0, 0.0), (10, 20), (10.001, 20.001), (10.5, 20.5), (89.999, -120), (89.999, 60), (-90, 10), (-0.001, -0.001),
        (0, 179.999), (0, -179.999), (45, -180), (45, 180), (-33.9, 151.2),
    ]

    /// A field as JSON. A few fields are invalid: no value, a null or Boolean value, or a number instead of a
    /// dictionary. A few others have the value and type of another kind of field, or bytes with the type STRING.
    static func field(of kind: Kind, _ random: inout Seeded) -> String {
        if random.isOneIn(40) { return random.one(of: [#"{"value":null}"#, "{}", "7", #"{"value":true}"#]) }
        let kind = random.isOneIn(15) ? random.one(of: all).kind : kind
        let type = kind == .bytes && random.isOneIn(4) ? "STRING" : type(of: kind)
        return #"{"value":\#(value(of: kind, &random)),"type":"\#(type)"}"#
    }

    private static func value(of kind: Kind, _ random: inout Seeded) -> String {
        switch kind {
        case .texts: return "\"\(random.one(of: texts))\""
        case .numbers: return number(&random)
        case .bytes: return "\"\(random.one(of: bytes))\""
        case .references: return #"{"recordName":"\#(random.one(of: names))","action":"NONE"}"#
        case .locations:
            let location = random.one(of: locations)
            return #"{"latitude":\#(location.0),"longitude":\#(location.1)}"#
        case .assets: return #"{"fileChecksum":"x","size":7}"#
        case .textLists: return list(of: .texts, &random)
        case .numberLists: return list(of: .numbers, &random)
        case .referenceLists: return list(of: .references, &random)
        }
    }

    private static func list(of kind: Kind, _ random: inout Seeded) -> String {
        let values = (0..<random.below(4)).map { _ in value(of: random.isOneIn(20) ? .texts : kind, &random) }
        return "[\(values.joined(separator: ","))]"
    }

    /// A number as JSON. In three of four cases it is one of the first four numbers; otherwise any number of the list.
    static func number(_ random: inout Seeded) -> String {
        numbers[random.below(random.isOneIn(4) ? numbers.count : 4)]
    }

    private static func type(of kind: Kind) -> String {
        switch kind {
        case .texts: "STRING"
        case .numbers: "DOUBLE"
        case .bytes: "BYTES"
        case .references: "REFERENCE"
        case .locations: "LOCATION"
        case .assets: "ASSETID"
        case .textLists: "STRING_LIST"
        case .numberLists: "DOUBLE_LIST"
        case .referenceLists: "REFERENCE_LIST"
        }
    }
}
