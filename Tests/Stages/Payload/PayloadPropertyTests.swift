import JSON
import TestSupport
import Testing

@testable import Payload

@Suite struct `Any notification` {
    @Test(arguments: UInt64(1)...150)
    func `gives a valid payload of at most 4,096 bytes that says whether anything is missing`(seed: UInt64) throws {
        var random = Seeded(seed)
        let sample = RandomNotification(using: &random)
        let line = try #require(try outputs(of: [sample.notification.line]).lines.first, "seed \(seed)")
        let text = try payloadText(of: line)
        let payload = try Tree(text)
        #expect(text.utf8.count <= 4096, "seed \(seed)")
        let missing = sample.expectedPaths.filter { path in path.reduce(payload) { $0?[$1] } == nil }
        let isPruned = payload["ck"]?.keys.contains("p") == true
        #expect(isPruned == !missing.isEmpty, "seed \(seed): \(missing)")
        #expect(payload["ck", "nid"]?.text == sample.notification.id, "seed \(seed)")
        #expect(payload["ck", "qry", "sid"]?.text == sample.notification.subscription, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...40)
    func `gives the same bytes however the stream is cut into batches`(seed: UInt64) throws {
        var random = Seeded(seed)
        let lines = (0..<30).map { _ in RandomNotification(using: &random).notification.line }
        let cuts = Set(lines.indices.filter { _ in Bool.random(using: &random) })
        #expect(try outputs(of: lines) == outputs(of: lines, cuts: cuts), "seed \(seed)")
    }
}

/// Texts of any length in several scripts in every place that takes one, and where each must show in the payload.
private struct RandomNotification {
    var notification = SampleNotification()
    var expectedPaths: [[String]] = [["ck", "cid"], ["ck", "ckuserid"], ["ck", "qry", "rid"], ["ck", "qry", "fo"]]

    private static let literals = [
        ("alertBody", ["alert"]), ("title", ["alert", "title"]), ("subtitle", ["alert", "subtitle"]),
        ("alertActionLocalizationKey", ["alert", "action-loc-key"]), ("alertLaunchImage", ["alert", "launch-image"]),
        ("soundName", ["sound"]), ("category", ["category"]),
    ]

    init(using random: inout Seeded) {
        notification.subscription = text(upTo: 300, using: &random)
        notification.record = text(upTo: 255, using: &random)
        notification.zoneName = text(upTo: 255, using: &random)
        expectedPaths += [["ck", "qry", "zid"], ["ck", "qry", "zoid"]]
        var members: [String] = []
        for (name, path) in Self.literals where Bool.random(using: &random) {
            members.append("\(quoted(name)):\(quoted(text(upTo: 1500, using: &random)))")
            expectedPaths.append(["aps"] + path)
        }
        if Bool.random(using: &random) { addFields(&members, using: &random) }
        notification.info = "{\(members.joined(separator: ","))}"
    }

    private mutating func addFields(_ members: inout [String], using random: inout Seeded) {
        let names = ["a", "b", "c"].shuffled(using: &random)
        let fields = names.map { "\(quoted($0)):{\"value\":\(quoted(text(upTo: 3000, using: &random)))}" }
        notification.fields = "{\(fields.joined(separator: ","))}"
        members.append("\"desiredKeys\":[\(names.map(quoted).joined(separator: ","))]")
        expectedPaths += names.map { ["ck", "qry", "af", $0] }
    }
}

private func text(upTo bytesMax: Int, using random: inout Seeded) -> String {
    let scripts = [
        "abc XYZ", "äöüß", "Ж ц", "漢字かな", "العربية", "👨‍👩‍👧‍👦🇦🇹👍🏽", "e\u{301}\u{323}", "\"\\/\u{1}\n\r\n\t\u{7F}", "नमस्ते",
    ]
    let bytes = Int.random(in: 1...bytesMax, using: &random) >> Int.random(in: 0...6, using: &random)
    let script = scripts.randomElement(using: &random) ?? ""
    var text = "x"
    while text.utf8.count < bytes { text.append(script.randomElement(using: &random) ?? "x") }
    return text
}
