import Events
import JSON

/// One of the rows of stages that share the work behind the log of changes: a match stage, and the stages that read
/// from it.
///
/// Everything of a user is in one lane, so that the user's events keep their order. Only changes of public databases go
/// to every lane, because any user may watch them.
package struct Lane: Hashable, Sendable {
    /// From 0.
    package let number: Int
    /// The number of all lanes.
    package let count: Int

    package static let countMax = 256

    package init(_ number: Int, of count: Int) {
        precondition(0..<count ~= number && count <= Lane.countMax)
        (self.number, self.count) = (number, count)
    }

    /// The ending of the names of the lane's stages and logs, such as `.07`.
    package var suffix: String {
        let digits = String(number)
        return "." + String(repeating: "0", count: max(2, String(count - 1).count) - digits.count) + digits
    }

    /// The value of a stage's setting `lane`, such as `7/16`.
    package var text: String { "\(number)/\(count)" }

    /// The lane's own file or folder, such as `pushes.07.ndjson` for `pushes.ndjson`.
    package func path(_ path: String) -> String {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let dot = path[start...].lastIndex(of: "."), dot > start else { return path + suffix }
        return path[..<dot] + suffix + path[dot...]
    }

    package init?(_ text: String) {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let number = numbers[0], let count = numbers[1], 1...Lane.countMax ~= count,
            0..<count ~= number
        else { return nil }
        self.init(number, of: count)
    }

    /// Whether the lane takes an event of the log of changes.
    @inline(__always)
    package func takes(_ event: JSONValue) -> Bool {
        count == 1 || Lane.number(of: event, count).map { $0 == number } ?? true
    }

    /// The lane that takes an event of the log of changes; nil if every lane takes it. An event that names no user goes
    /// to lane 0.
    package static func number(of event: JSONValue, _ count: Int) -> Int? {
        if event[.database]?.equals("public") == true, isChange(event) { return nil }
        guard let user = event[.owner] ?? event[.user] else { return 0 }
        var hash = LaneHash()
        hash.add(event[.container])
        hash.add(event[.environment])
        hash.add(user)
        return hash.lane(of: count)
    }

    /// The lane of a user of an app.
    package static func number(container: String, environment: String, user: String, _ count: Int) -> Int {
        var hash = LaneHash()
        for text in [container, environment, user] {
            var text = text
            text.withUTF8 { hash.add(UnsafeRawBufferPointer($0)) }
        }
        return hash.lane(of: count)
    }

    private static func isChange(_ event: JSONValue) -> Bool {
        guard let type = event[.type] else { return false }
        return type.equals(EventName.recordSave) || type.equals(EventName.recordDelete)
    }
}

/// A hash that never changes, because a user's past is in the lane that it names: FNV-1a with 64 bits, whose bits are
/// then mixed as in MurmurHash3.
private struct LaneHash {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ text: JSONValue?) {
        if let plain = text?.plain {
            add(plain)
        } else if text?.withUTF8({ add($0) }) == nil {
            add(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    /// Adds a text and an end, so that `ab`, `c` and `a`, `bc` differ.
    mutating func add(_ text: UnsafeRawBufferPointer) {
        for byte in text { add(byte) }
        add(0xff)
    }

    private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }

    func lane(of count: Int) -> Int {
        var mixed = value
        mixed = (mixed ^ mixed >> 33) &* 0xff51_afd7_ed55_8ccd
        mixed = (mixed ^ mixed >> 33) &* 0xc4ce_b9fe_1a85_ec53
        mixed ^= mixed >> 33
        return Int(mixed.multipliedFullWidth(by: UInt64(count)).high)
    }
}
