/// A field of records: its type and its values.
struct WorkloadField: Sendable {
    enum Values: Sendable {
        /// This case and the next three are for anchors, the fields that most apps subscribe to. For `n` subscriptions
        /// there are `n / share` values, but at least 20, and always 20 in a dense workload. The first values are more
        /// frequent.
        case threads(share: Int)
        case references(share: Int)
        case items(share: Int)
        case members(share: Int)
        /// One of these strings; the first strings are more frequent.
        case choice([String], cumulativeWeights: [Int])
        /// A list of none to three of these strings; the first strings are more frequent.
        case someOf([String], cumulativeWeights: [Int])
        case title([String])
        /// Whole numbers below a limit; if skewed, small numbers are more frequent.
        case integers(Int, isSkewed: Bool)
        /// Numbers with two decimal places, such as 4.99. The limit is in hundredths: 500 stands for 5.00.
        case hundredths(Int, isSkewed: Bool)
        case time
    }

    let name: String
    /// The field type of CloudKit Web Services. The type of a list is the type of its elements, followed by `_LIST`.
    let type: String
    let values: Values
    /// How often a record type has this plain field, relative to the other plain fields.
    var weight = 0

    var isList: Bool { type.hasSuffix("_LIST") }

    var isChoice: Bool { if case .choice = values { true } else { false } }
}

extension WorkloadField {
    static let anchors = [
        WorkloadField(name: "thread", type: "STRING", values: .threads(share: 8)),
        WorkloadField(name: "group", type: "STRING", values: .threads(share: 25)),
        WorkloadField(name: "author", type: "REFERENCE", values: .references(share: 8)),
        WorkloadField(name: "item", type: "INT64", values: .items(share: 8)),
        WorkloadField(name: "members", type: "STRING_LIST", values: .members(share: 3)),
    ]

    static let plain = [
        choice("state", 6, words("open done draft live hold lost sent new")),
        choice("category", 5, (0..<32).map { String(word($0).prefix(5)) }),
        choice("country", 4, words("us de fr gb es it nl se dk no fi pl cz jp kr cn in br mx ca au nz za at")),
        choice("language", 2, words("en de fr es it pt nl sv da no fi pl cs ja ko zh ru uk tr ar")),
        choice("color", 2, words("red blue green black white amber pink grey teal gold navy lime")),
        choice("city", 4, (0..<2000).map { word($0 + 100) }),
        WorkloadField(name: "title", type: "STRING", values: .title((0..<4000).map { word($0) }), weight: 3),
        someOf("tags", 5, (0..<300).map { String(word($0 + 700).prefix(4)) }),
        someOf("labels", 2, (0..<40).map { String(word($0 + 50).prefix(3)) }),
        integers("score", 4, 1000), integers("priority", 4, 10), integers("count", 3, 10_000, isSkewed: true),
        integers("year", 2, 60), integers("flagged", 2, 2),
        WorkloadField(
            name: "price", type: "DOUBLE", values: .hundredths(100_000, isSkewed: true), weight: 4),
        WorkloadField(name: "rating", type: "DOUBLE", values: .hundredths(500, isSkewed: false), weight: 2),
        WorkloadField(name: "starts", type: "TIMESTAMP", values: .time, weight: 2),
        WorkloadField(name: "due", type: "TIMESTAMP", values: .time, weight: 3),
    ]

    private static func choice(_ name: String, _ weight: Int, _ values: [String]) -> WorkloadField {
        WorkloadField(
            name: name, type: "STRING", values: .choice(values, cumulativeWeights: WorkloadRandom.zipf(values.count)),
            weight: weight
        )
    }

    private static func someOf(_ name: String, _ weight: Int, _ values: [String]) -> WorkloadField {
        WorkloadField(
            name: name, type: "STRING_LIST",
            values: .someOf(values, cumulativeWeights: WorkloadRandom.zipf(values.count)),
            weight: weight)
    }

    private static func integers(_ name: String, _ weight: Int, _ limit: Int, isSkewed: Bool = false) -> WorkloadField {
        WorkloadField(name: name, type: "INT64", values: .integers(limit, isSkewed: isSkewed), weight: weight)
    }

    static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    private static let syllables = words("ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu")

    /// A word of three syllables. Any 8,000 consecutive numbers give different words.
    static func word(_ number: Int) -> String {
        let number = number * 7919 + 13
        return syllables[number % 20] + syllables[number / 20 % 20] + syllables[number / 400 % 20]
    }
}

/// A value of a field.
enum WorkloadValue: Hashable, Comparable {
    case integer(Int)
    case hundredths(Int)
    case text(String)
}
