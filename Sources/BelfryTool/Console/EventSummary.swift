import Events
import JSON

/// Describes an event in one line for people: sequence, time, type and the most important members.
enum EventSummary {
    /// The paths of the members that are shown, in the order in which they are shown.
    private static let members: [[Member]] = [
        [.change], [.reason], [.outcome], [.record, .recordType], [.recordType], [.record, .recordName],
        [.recordName], [.subscription, .subscriptionID], [.subscriptionID], [.user], [.owner], [.device],
        [.transport], [.badge], [.replacedBy], [.count], [.first], [.last], [.code], [.status],
        [.payload, "aps", "alert", "title"], [.payload, "aps", "alert", "body"], [.payload, "aps", "alert"],
    ]

    static func text(
        _ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ time: String,
        _ painter: Painter = Painter(isColoured: false)
    ) -> String {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 64 << 20, depthMax: 512))
        let start = "\(painter.dim("\(sequence)".leftPadded(to: 8)))  \(painter.dim(time))  "
        do throws(JSONError) {
            let event = try parser.parse(line)
            let type = event[.type]?.string?.printable ?? "?"
            return start + painter.cyan(type) + details(event).map { "  " + $0 }.joined()
        } catch {
            return start + painter.red("not JSON: \(error)")
        }
    }

    private static func details(_ event: JSONValue) -> [String] {
        members.compactMap { path in
            guard let value = path.reduce(event as JSONValue?, { $0?[$1] }), let text = text(of: value),
                let name = path.last
            else { return nil }
            return "\(name)=\(text)"
        }
    }

    private static func text(of value: JSONValue) -> String? {
        if let text = value.string { return text.printable }
        return value.isNumber ? String(decoding: value.raw, as: UTF8.self) : nil
    }
}
