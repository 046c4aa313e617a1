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
        let kind = EventKind(event[.type])
        if kind == .change, event[.database]?.equals("public") == true { return nil }
        guard let user = kind == .other ? event[.user] : event[.owner] else { return 0 }
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

    private enum EventKind {
        /// A change of a record.
        case change
        case ofZone
        case other

        init(_ type: JSONValue?) {
            guard let type else {
                self = .other
                return
            }
            if type.equals(EventName.recordSave) || type.equals(EventName.recordDelete) {
                self = .change
            } else {
                self = type.equals(EventName.zoneSave) || type.equals(EventName.zoneDelete) ? .ofZone : .other
            }
        }
    }
}

/// Finds the lanes of the lines of a log of changes.
package final class LaneReader {
    private let count: Int
    private var parser = JSONParser()

    /// - Parameter count: The number of all lanes.
    package init(_ count: Int) { self.count = count }

    /// As ``Lane/number(of:_:)``. A line that is not JSON goes to lane 0.
    package func number(ofLine line: UnsafeRawBufferPointer) -> Int? {
        if let user = LineUser(line) { return user.lane(of: count) }
        do throws(JSONError) { return Lane.number(of: try parser.parse(line), count) } catch { return 0 }
    }
}

/// Whom a line is about, read from the first members of a line as ingest writes it. Parsing the whole line would take
/// several times as long.
private struct LineUser {
    private var isPublicChange = false
    private var hash = LaneHash()

    /// Nil if only the whole line tells it.
    init?(_ line: UnsafeRawBufferPointer) {
        var members = FirstMembers(line)
        guard members.next(is: "type"), let type = members.value, members.next(is: "container"),
            let container = members.value, members.next(is: "environment"), let environment = members.value
        else { return nil }
        hash.add(container)
        hash.add(environment)
        let isChange = type.isSame(as: "record.save") || type.isSame(as: "record.delete")
        guard isChange || type.isSame(as: "zone.save") || type.isSame(as: "zone.delete") else {
            if members.next(is: "user"), let user = members.value {
                hash.add(user)
            } else {
                guard members.isAt("database"), members.next(is: "user"), let user = members.value else { return nil }
                hash.add(user)
            }
            return
        }
        guard members.next(is: "database"), let database = members.value else { return nil }
        isPublicChange = isChange && database.isSame(as: "public")
        if isPublicChange { return }
        guard members.next(is: "owner"), let owner = members.value else { return nil }
        hash.add(owner)
    }

    func lane(of count: Int) -> Int? { isPublicChange ? nil : hash.lane(of: count) }
}

/// The first members of an object, as long as their values are strings without escapes.
private struct FirstMembers {
    private let line: UnsafeRawBufferPointer
    private var position = 0
    private var key: UnsafeRawBufferPointer?
    private(set) var value: UnsafeRawBufferPointer?

    init(_ line: UnsafeRawBufferPointer) { self.line = line }

    func isAt(_ name: StaticString) -> Bool { key?.isSame(as: name) ?? false }

    /// Reads the next member, and returns whether it has this name.
    mutating func next(is name: StaticString) -> Bool {
        (key, value) = (nil, nil)
        guard take(position == 0 ? "{" : ","), let key = string(), take(":"), let value = string() else { return false }
        (self.key, self.value) = (key, value)
        return isAt(name)
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard position < line.count, line[position] == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    private mutating func string() -> UnsafeRawBufferPointer? {
        guard take("\"") else { return nil }
        let start = position
        while position < line.count {
            switch line[position] {
            case UInt8(ascii: "\""):
                position += 1
                return UnsafeRawBufferPointer(rebasing: line[start..<(position - 1)])
            case UInt8(ascii: "\\"): return nil
            default: position += 1
            }
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isSame(as text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && isSame(as: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
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
