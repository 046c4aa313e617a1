import TestSupport

/// The values for random commands: small pools, so that subscriptions and changes match often.
struct World: Sendable {
    var containers = ["iCloud.c", "iCloud.c", "iCloud.c", "iCloud.c", "iCloud.other"]
    var environments = ["production", "production", "production", "production", "development"]
    var databases = ["public", "public", "private", "shared"]
    var users = ["_a", "_a", "_b"]
    var types = ["Note", "Note", "Task"]
    var zones = ["_defaultZone", "Y", "Z"]
    var kinds = ["query", "query", "query", "query", "query", "zone", "database", "zoneWide"]
    /// The number of subscription IDs. If there are few, a save often replaces an earlier subscription.
    var ids = 30
    /// On average, one of this many queries has no clause.
    var emptyQueries = 12

    /// A world with several scopes, record types and zones.
    static let wide = World()

    /// A world with one scope and one record type, so that the index has long lists.
    static let crowded = World(
        containers: ["iCloud.c"], environments: ["production"], databases: ["public"], types: ["Note"],
        zones: ["_defaultZone"], kinds: ["query"], ids: 400, emptyQueries: 200)
}

/// A field of subscriptions and records with its possible values as JSON.
struct FieldPool {
    enum Kind { case texts, numbers, bytes, references, places, assets, textLists, numberLists, referenceLists }

    let name: String
    let kind: Kind

    static let all = [
        FieldPool(name: "s", kind: .texts), FieldPool(name: "s", kind: .texts), FieldPool(name: "t", kind: .texts),
        FieldPool(name: "n", kind: .numbers), FieldPool(name: "n", kind: .numbers),
        FieldPool(name: "m", kind: .numbers), FieldPool(name: "b", kind: .bytes),
        FieldPool(name: "r", kind: .references), FieldPool(name: "p", kind: .places),
        FieldPool(name: "f", kind: .assets), FieldPool(name: "ls", kind: .textLists),
        FieldPool(name: "ln", kind: .numberLists), FieldPool(name: "lr", kind: .referenceLists),
    ]

    static let texts = [
        "a", "A", "ab", "Abc", "b", "", "ä", "Ä", "it's", "the Café x2", "x2 bar", "日本 x", "a \\\"q\\\"",
    ]
    static let numbers = [
        "0", "1", "2", "3", "1.0", "1.5", "-1", "2.0", "9007199254740993", "9007199254740992.0", "-0.0",
        "9223372036854775807", "-9223372036854775808", "1e300",
    ]
    static let bytes = ["", "QQ==", "QUI=", "QUJD", "+/+/"]
    static let names = ["_a", "_b", "r1", "R1"]
    static let places = [
        (0.0, 0.0), (10, 20), (10.001, 20.001), (10.5, 20.5), (89.999, -120), (89.999, 60), (-90, 10), (-0.001, -0.001),
        (0, 179.999), (0, -179.999), (45, -180), (45, 180), (-33.9, 151.2),
    ]

    /// A field dictionary. A few dictionaries have the type of another field, an unknown type or no value.
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
        case .places:
            let place = random.one(of: places)
            return #"{"latitude":\#(place.0),"longitude":\#(place.1)}"#
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

    /// A number as JSON. Usually it is one of a few common numbers, and sometimes an extreme number.
    static func number(_ random: inout Seeded) -> String {
        numbers[random.below(random.isOneIn(4) ? numbers.count : 4)]
    }

    private static func type(of kind: Kind) -> String {
        switch kind {
        case .texts: "STRING"
        case .numbers: "DOUBLE"
        case .bytes: "BYTES"
        case .references: "REFERENCE"
        case .places: "LOCATION"
        case .assets: "ASSETID"
        case .textLists: "STRING_LIST"
        case .numberLists: "DOUBLE_LIST"
        case .referenceLists: "REFERENCE_LIST"
        }
    }
}
