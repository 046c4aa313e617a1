import JSON
import TestSupport

@testable import Payload

/// A random notification with strings of many lengths in several scripts, and the payload that is expected for it.
struct DrawnNotification {
    private(set) var notification = SampleNotification()
    /// The expected values of a complete payload by their paths, without the pruning flag `ck.p`.
    private(set) var expected: [[String]: Tree] = [:]
    /// The names of desired fields and of arguments whose values the payload cannot contain because of their types.
    private(set) var unfit: Set<String> = []
    private var members: [String] = []
    private var fields: [String: Field] = [:]

    private struct Field {
        let json: String
        /// The field's value among the desired keys; nil if payloads cannot contain its type.
        let value: Tree?
        /// The field's value among the arguments of a localized text.
        let argument: Tree
        /// Whether the value can be an argument. Locations, references, bytes and lists cannot.
        var isArgument: Bool {
            if case .object? = value { false } else { value != nil }
        }
    }

    init(using random: inout Seeded) {
        drawPlace(using: &random)
        drawFields(using: &random)
        if random.below(20) > 0 { drawInfo(using: &random) }
        expectContentAvailableIfSilent()
    }

    /// The paths that must never be missing.
    var identifying: Set<[String]> { [["ck", "nid"], ["ck", ckKey, "sid"], ["ck", ckKey, "dbs"]] }

    /// The expected paths that are missing, and the expected paths that have other values.
    func difference(from payload: Tree) -> (missing: Set<[String]>, wrong: [[String]]) {
        var (missing, wrong) = (Set<[String]>(), [[String]]())
        for (path, value) in expected {
            let found = DrawnNotification.value(at: path, of: payload)
            if found == nil { missing.insert(path) } else if found != value { wrong.append(path) }
        }
        return (missing, wrong)
    }

    /// The value at a path. An alert with nothing but a body is a plain string.
    private static func value(at path: [String], of payload: Tree) -> Tree? {
        if path == ["aps", "alert", "body"], case .text? = payload["aps", "alert"] { return payload["aps", "alert"] }
        return path.reduce(payload) { $0?[$1] }
    }

    private var ckKey: String { ["query": "qry", "zone": "fet", "database": "met"][notification.type] ?? "" }
}

// MARK: - Place and fields

extension DrawnNotification {
    private mutating func drawPlace(using random: inout Seeded) {
        notification.type = random.one(of: ["query", "query", "query", "zone", "database"])
        notification.database = random.one(of: ["private", "public", "shared"])
        notification.reason = random.one(of: ["create", "update", "delete"])
        notification.environment = random.one(of: ["development", "production"])
        notification.subscription = text(upTo: 255, using: &random)
        notification.record = text(upTo: 255, using: &random)
        notification.zoneName = text(upTo: 255, using: &random)
        notification.zoneOwner = text(upTo: 255, using: &random)
        notification.user = text(upTo: 255, using: &random)
        let owner =
            switch notification.database {
            case "public": "_defaultOwner"
            case "private": notification.user
            default: notification.zoneOwner
            }
        expect(["ck"], ["nid": notification.id, "cid": notification.container, "ckuserid": notification.user])
        expect(["ck", ckKey], ["sid": notification.subscription, "zid": notification.zoneName, "zoid": owner])
        expected[["ck", "ce"]] = .number(notification.environment == "production" ? "1" : "2")
        expected[["ck", ckKey, "dbs"]] = .number(["private": "1", "public": "2"][notification.database] ?? "3")
        guard notification.type == "query" else { return }
        expect(["ck", ckKey], ["rid": notification.record])
        expected[["ck", ckKey, "fo"]] = .number(["create": "1", "update": "2"][notification.reason] ?? "3")
    }

    private mutating func expect(_ path: [String], _ texts: [String: String]) {
        for (key, text) in texts { expected[path + [key]] = .text(text) }
    }

    private mutating func drawFields(using random: inout Seeded) {
        for name in ["a", "b", "c", "d", "e"] where random.below(5) > 0 { fields[name] = field(using: &random) }
        let json = fields.keys.sorted().map { "\(quoted($0)):\(fields[$0]?.json ?? "")" }
        notification.fields = "{\(json.joined(separator: ","))}"
    }

    private func field(using random: inout Seeded) -> Field {
        let none = Tree.text("")
        switch random.below(9) {
        case 0:
            let number = random.one(of: ["0", "-12", "9223372036854775807", "4.50", "1e300", "-0.0"])
            return Field(json: #"{"value":\#(number)}"#, value: .number(number), argument: .text(number))
        case 1:
            let json = #"{"value":1700000000000,"type":"TIMESTAMP"}"#
            return Field(json: json, value: .number("1700000000000"), argument: .text("1700000000000"))
        case 2:
            let place = Tree.object(["latitude": .number("48.2"), "longitude": .number("16.37")])
            let json = #"{"value":{"latitude":48.2,"longitude":16.37,"speed":3},"type":"LOCATION"}"#
            return Field(json: json, value: place, argument: none)
        case 3:
            let name = text(upTo: 255, using: &random)
            let json = #"{"value":{"recordName":\#(quoted(name)),"action":"NONE"},"type":"REFERENCE"}"#
            return Field(
                json: json, value: .object(["recordName": .text(name), "action": .text("NONE")]), argument: none)
        case 4: return Field(json: #"{"value":"AAEC","type":"BYTES"}"#, value: nil, argument: none)
        case 5: return Field(json: #"{"value":["x","y"],"type":"STRING_LIST"}"#, value: nil, argument: none)
        default:
            let long = text(upTo: 3_000, using: &random)
            let short = Tree.text(String(long.prefix(100)))
            return Field(json: #"{"value":\#(quoted(long)),"type":"STRING"}"#, value: short, argument: short)
        }
    }
}

// MARK: - Notification info

extension DrawnNotification {
    private mutating func drawInfo(using random: inout Seeded) {
        drawTexts(using: &random)
        drawFlags(using: &random)
        drawDesiredKeys(using: &random)
        notification.info = "{\(members.shuffled(using: &random).joined(separator: ","))}"
    }

    /// String properties that do not depend on other properties, and their paths in `aps`.
    private static let copied = [
        ("alertActionLocalizationKey", ["alert", "action-loc-key"]), ("alertLaunchImage", ["alert", "launch-image"]),
        ("soundName", ["sound"]), ("category", ["category"]),
    ]
    private static let texts = [
        ("alertBody", "alert", "body", "loc"), ("title", "title", "title", "title-loc"),
        ("subtitle", "subtitle", "subtitle", "subtitle-loc"),
    ]

    private mutating func drawTexts(using random: inout Seeded) {
        for (name, path) in Self.copied where random.below(3) == 0 {
            expected[["aps"] + path] = .text(set(name, upTo: 600, using: &random))
        }
        for text in Self.texts { drawText(text, using: &random) }
    }

    private mutating func drawText(
        _ text: (name: String, property: String, literal: String, key: String), using random: inout Seeded
    ) {
        let (hasLiteral, hasKey) = (random.below(3) == 0, random.below(3) == 0)
        if hasLiteral {
            let literal = set(text.name, upTo: random.one(of: [40, 40, 2_000]), using: &random)
            if !hasKey { expected[["aps", "alert", text.literal]] = .text(literal) }
        }
        if hasKey {
            let key = set("\(text.property)LocalizationKey", upTo: 300, using: &random)
            expected[["aps", "alert", "\(text.key)-key"]] = .text(key)
        }
        guard random.isOneIn(2) else { return }
        let names = (0...random.below(4)).map { _ in random.one(of: ["a", "b", "c", "d", "e", "none"]) }
        members.append("\(quoted("\(text.property)LocalizationArgs")):[\(names.map(quoted).joined(separator: ","))]")
        guard hasKey else { return }
        unfit.formUnion(names.filter { fields[$0]?.isArgument == false })
        expected[["aps", "alert", "\(text.key)-args"]] = .list(names.map { fields[$0]?.argument ?? .text("") })
    }

    private mutating func drawFlags(using random: inout Seeded) {
        for (name, key) in [("shouldBadge", "badge"), ("shouldSendMutableContent", "mutable-content")] {
            let isSet = random.below(4) == 0
            if isSet || random.isOneIn(2) { members.append("\(quoted(name)):\(isSet)") }
            if isSet { expected[["aps", key]] = .number("1") }
        }
        guard random.isOneIn(2) else { return }
        members.append(#""shouldSendContentAvailable":true"#)
        expected[["aps", "content-available"]] = .number("1")
    }

    private mutating func drawDesiredKeys(using random: inout Seeded) {
        guard random.isOneIn(2) else { return }
        let names = ["a", "b", "c", "d", "e", "none"].shuffled(using: &random).prefix(1 + random.below(3))
        members.append("\"desiredKeys\":[\(names.map(quoted).joined(separator: ","))]")
        guard notification.type == "query", notification.reason != "delete" else { return }
        for name in names { expected[["ck", "qry", "af", name]] = fields[name]?.value }
        unfit.formUnion(names.filter { fields[$0].map { $0.value == nil } ?? false })
    }

    private mutating func set(_ name: String, upTo bytesMax: Int, using random: inout Seeded) -> String {
        let text = text(upTo: bytesMax, using: &random)
        members.append("\(quoted(name)):\(quoted(text))")
        return text
    }

    /// Expects `content-available` if no other part of `aps` is expected, because every background push has this flag.
    private mutating func expectContentAvailableIfSilent() {
        guard expected.keys.allSatisfy({ $0[0] == "ck" }) else { return }
        expected[["aps", "content-available"]] = .number("1")
    }
}

private func text(upTo bytesMax: Int, using random: inout Seeded) -> String {
    let scripts = [
        "abc XYZ", "äöüß", "Ж ц", "漢字かな", "العربية\u{200F}\u{202E}", "👨‍👩‍👧‍👦🇦🇹👍🏽", "e\u{301}\u{323}\u{32}",
        "\"\\/\u{1}\n\r\n\t\u{7F}",
        "नमस्ते", "\u{0}\u{85}\u{2028}\u{FEFF}\u{FFFF}", "\u{E000}\u{10FFFF}a\u{300}\u{300}\u{300}\u{300}",
    ]
    let bytes = Int.random(in: 1...bytesMax, using: &random) >> Int.random(in: 0...6, using: &random)
    var text = "x"
    while text.utf8.count < bytes {
        let script = random.isOneIn(8) ? random.one(of: scripts) : scripts[bytes % scripts.count]
        guard let character = script.randomElement(using: &random) else { break }
        if text.utf8.count + character.utf8.count > bytesMax { break }
        text.append(character)
    }
    return text
}
