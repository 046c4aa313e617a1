import Events

/// The bytes of one kind of change, with gaps for numbers: to write a change, copy the bytes and fill in the digits.
struct ChangeTemplate {
    private enum Gap { case user, record, topic, priority, number }

    private var bytes: [UInt8] = []
    private var gaps: [(gap: Gap, offset: Int, digits: Int)] = []

    init(_ kind: Workload.Kind) {
        text(
            "{\"type\":\"record.save\",\(WorkloadNames.place),\"database\":\"\(kind == .publicQuery ? "public" : "private")\","
        )
        if kind != .publicQuery { quoted("owner", "_u", .user, 6) }
        text("\"origin\":{")
        quoted(Member.user.description, "_u", .user, 6)
        quoted("device", "mac", .user, 6)
        bytes.removeLast()
        text("},\"record\":{")
        quoted("recordName", "r", .record, 8)
        text("\"recordType\":\"\(WorkloadNames.recordType(kind))\",")
        if kind == .zone { zone() }
        fields(kind)
        text("}}}\n")
        precondition(
            bytes.count == Workload.lineBytes, "a template has \(bytes.count) bytes, not \(Workload.lineBytes)")
    }

    func write(_ change: Workload.Change, number: UInt64, to line: UnsafeMutableBufferPointer<UInt8>) {
        _ = line.update(fromContentsOf: bytes)
        for (gap, offset, digits) in gaps {
            let value: UInt64 =
                switch gap {
                case .user: UInt64(Workload.user(ofSlot: change.slot))
                case .record: UInt64(change.record)
                case .topic: UInt64(change.topic)
                case .priority: UInt64(change.priority)
                case .number: number
                }
            ChangeTemplate.write(value, digits, to: line, at: offset)
        }
    }

    private static func write(
        _ value: UInt64, _ digits: Int, to line: UnsafeMutableBufferPointer<UInt8>, at offset: Int
    ) {
        var rest = value
        for index in stride(from: offset + digits - 1, through: offset, by: -1) {
            line[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    // MARK: Building the template

    /// Appends the zone of a change that a zone subscription may watch. Such a change has no field `topic`, so
    /// ``Workload/Change/topic`` is the number of the zone.
    private mutating func zone() {
        text("\"zoneID\":{")
        quoted("zoneName", "Z", .topic, 7)
        bytes.removeLast()
        text("},")
    }

    private mutating func fields(_ kind: Workload.Kind) {
        text("\"fields\":{")
        if kind != .zone {
            text("\"topic\":{")
            quoted("value", "t", .topic, 7)
            text("\"type\":\"STRING\"},")
        }
        text("\"priority\":{\"value\":")
        gap(.priority, 1)
        text(",\"type\":\"INT64\"},\"title\":{\"value\":\"Draft ")
        gap(.number, 10)
        let end = "\",\"type\":\"STRING\"}"
        let missing = Workload.lineBytes - bytes.count - end.utf8.count - 4
        text(String(WorkloadNames.filler.prefix(missing)))
        text(end)
    }

    private mutating func text(_ text: String) { bytes += Array(text.utf8) }

    private mutating func gap(_ gap: Gap, _ digits: Int) {
        gaps.append((gap, bytes.count, digits))
        bytes += [UInt8](repeating: UInt8(ascii: "0"), count: digits)
    }

    /// Appends a member and a comma. The value of the member is a string that consists of a prefix and a gap.
    private mutating func quoted(_ key: String, _ prefix: String, _ gap: Gap, _ digits: Int) {
        text("\"\(key)\":\"\(prefix)")
        self.gap(gap, digits)
        text("\",")
    }
}

/// JSON text and names in the commands and events that benches make.
enum WorkloadNames {
    /// The JSON members that name the container and the environment.
    static let place = "\"container\":\"iCloud.com.example.Bench\",\"environment\":\"production\""
    static let filler = ", which was written on a train between two stations, and then rewritten at home in the evening"

    static func recordType(_ kind: Workload.Kind) -> String {
        switch kind {
        case .privateQuery: "Note"
        case .publicQuery: "Article"
        case .zone: "Task"
        }
    }
}
