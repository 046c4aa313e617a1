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
            guard key.parts != nil, !badge.isUnset, badges.updateValue(badge, forKey: key) == nil else {
                throw snapshot.error("a badge is invalid or appears twice")
            }
        }
    }

    /// Writes one line for each ``Badge/count`` that is not 0, and one line for each topic with a number of its own.
    /// The lines are sorted by container, environment (production first), user and topic.
    func writeState(into lines: inout ByteBuffer) {
        let sorted = badges.compactMap { key, badge in key.parts.map { (parts: $0, badge: badge) } }
            .sorted { $0.parts.sortKey.lexicographicallyPrecedes($1.parts.sortKey) }
        for (parts, badge) in sorted {
            if badge.count > 0 { parts.writeState(badge.count, of: nil, into: &lines) }
            for topic in badge.topics { parts.writeState(topic.count, of: topic.name, into: &lines) }
        }
    }
}

extension Badge {
    /// The highest count that a snapshot may contain. A badge never gets that high, so a higher count is damaged.
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
        for _ in 0..<(try snapshot.count(bytesEach: 2)) {
            let topic = Topic(name: try snapshot.array(), count: try Badge.count(from: &snapshot))
            guard append(topic) else {
                throw snapshot.error("the badge of a topic is invalid, appears twice or is out of order")
            }
        }
    }

    private static func count(from snapshot: inout SnapshotReader) throws(SnapshotError) -> Int {
        let count = try snapshot.integer()
        guard (0...countMax).contains(count) else { throw snapshot.error("a badge is out of range") }
        return count
    }
}

extension BadgeCounters.Key {
    struct Parts {
        let container: ArraySlice<UInt8>
        let environment: EnvironmentCode
        let user: ArraySlice<UInt8>

        var sortKey: ArraySlice<UInt8> { container + [0, environment.rawValue] + user }
    }

    /// Nil if the bytes are not a key.
    var parts: Parts? {
        guard let environment = bytes.first.flatMap(EnvironmentCode.init(rawValue:)) else { return nil }
        guard let container = text(at: 1), let user = text(at: container.endIndex), user.endIndex == bytes.count else {
            return nil
        }
        return Parts(container: container, environment: environment, user: user)
    }

    /// The string whose length starts at `start`; nil if the bytes end inside the length or the string.
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
