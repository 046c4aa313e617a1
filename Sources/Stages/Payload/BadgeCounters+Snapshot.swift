import JSON
import PipelineKit

extension BadgeCounters {
    /// No history is that long: a count above it was never counted.
    private static let countMax = 1 << 53

    func write(into snapshot: inout SnapshotWriter) {
        let sorted = counts.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        snapshot.write(all: sorted) { entry, snapshot in
            snapshot.write(entry.key.bytes)
            snapshot.write(entry.value)
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        for _ in 0..<(try snapshot.count(bytesEach: 2)) {
            let key = Key(bytes: try snapshot.array())
            let count = try snapshot.integer()
            guard key.parts != nil, (1...Self.countMax).contains(count) else {
                throw snapshot.error("this is no badge")
            }
            guard counts.updateValue(count, forKey: key) == nil else { throw snapshot.error("a badge is there twice") }
        }
    }

    /// One line a badge, in the order of containers, environments and users.
    func writeState(into lines: inout ByteBuffer) {
        let badges = counts.compactMap { key, count in key.parts.map { (parts: $0, count: count) } }
        for badge in badges.sorted(by: { $0.parts < $1.parts }) {
            lines.append("{\"container\":", badge.parts.container)
            lines.append(",\"environment\":\"")
            lines.append(badge.parts.environment.word)
            lines.append("\",\"user\":", badge.parts.user)
            lines.append(",\"badge\":")
            lines.appendJSON(badge.count)
            lines.append("}\n")
        }
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

extension ByteBuffer {
    fileprivate mutating func append(_ key: StaticString, _ text: ArraySlice<UInt8>) {
        append(key)
        text.withUnsafeBytes { appendJSON(utf8: $0) }
    }
}
