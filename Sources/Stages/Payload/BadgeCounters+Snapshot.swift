import Events
import JSON
import PipelineKit

extension BadgeCounters {
    func write(into snapshot: inout SnapshotWriter) {
        let sorted = badges.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        snapshot.write(all: sorted) { entry, snapshot in
            snapshot.write(entry.key.bytes)
            entry.value.write(into: &snapshot)
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        for _ in 0..<(try snapshot.count(bytesEach: 3)) {
            let key = Key(bytes: try snapshot.array())
            let badge = try Badge(from: &snapshot)
            guard key.parts != nil, !badge.isUnset else { throw snapshot.error("this is no badge") }
            guard badges.updateValue(badge, forKey: key) == nil else { throw snapshot.error("a badge is there twice") }
        }
    }

    /// One line a badge, in the order of containers, environments, users and topics.
    func writeState(into lines: inout ByteBuffer) {
        let sorted = badges.compactMap { key, badge in key.parts.map { (parts: $0, badge: badge) } }
            .sorted { $0.parts < $1.parts }
        for (parts, badge) in sorted {
            if badge.count > 0 { parts.writeState(badge.count, of: nil, into: &lines) }
            for topic in badge.topics { parts.writeState(topic.count, of: topic.name, into: &lines) }
        }
    }
}

extension Badge {
    /// No history is that long: a count above it was never counted.
    private static let countMax = 1 << 53

    fileprivate func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(count)
        snapshot.write(all: topics) { topic, snapshot in
            snapshot.write(topic.name)
            snapshot.write(topic.count)
        }
    }

    fileprivate init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        self.init()
        set(try Badge.count(from: &snapshot))
        for number in 0..<(try snapshot.count(bytesEach: 2)) {
            let (name, count) = (try snapshot.array(), try Badge.count(from: &snapshot))
            guard set(count, of: name), topics.count == number + 1, topics[number].name == name else {
                throw snapshot.error("a topic's badge is there twice, or out of its turn")
            }
        }
    }

    private static func count(from snapshot: inout SnapshotReader) throws(SnapshotError) -> Int {
        let count = try snapshot.integer()
        guard (0...countMax).contains(count) else { throw snapshot.error("this is no badge") }
        return count
    }
}

extension BadgeCounters.Key {
    struct Parts: Comparable {
        let container: ArraySlice<UInt8>
        let environment: ContainerEnvironment
        let user: ArraySlice<UInt8>

        static func < (left: Parts, right: Parts) -> Bool {
            guard left.container == right.container else {
                return left.container.lexicographicallyPrecedes(right.container)
            }
            guard left.environment == right.environment else {
                return left.environment.rawValue < right.environment.rawValue
            }
            return left.user.lexicographicallyPrecedes(right.user)
        }
    }

    /// Nil where the bytes are no key.
    var parts: Parts? {
        guard let environment = bytes.first.flatMap(ContainerEnvironment.init(rawValue:)) else { return nil }
        guard let container = text(at: 1), let user = text(at: container.endIndex), user.endIndex == bytes.count else {
            return nil
        }
        return Parts(container: container, environment: environment, user: user)
    }

    /// The text behind its length.
    private func text(at start: Int) -> ArraySlice<UInt8>? {
        guard start + 4 <= bytes.count else { return nil }
        let count = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt32.self) }
        let end = start + 4 + Int(UInt32(littleEndian: count))
        return end <= bytes.count ? bytes[start + 4..<end] : nil
    }
}

extension BadgeCounters.Key.Parts {
    fileprivate func writeState(_ count: Int, of topic: [UInt8]?, into lines: inout ByteBuffer) {
        lines.append(first: .container)
        container.withUnsafeBytes { lines.appendJSON(utf8: $0) }
        lines.append(",\"environment\":\"")
        lines.append(environment.word)
        lines.append("\"")
        lines.append(.user, utf8: user)
        if let topic { lines.append(.topic, utf8: topic[...]) }
        lines.append(member: .badge)
        lines.appendJSON(count)
        lines.append("}\n")
    }
}
