import Events
import JSON

extension Match {
    /// The byte offsets at which the text of a match is cut to make a notification from it.
    struct Layout {
        /// The end of the first member, the type.
        var typeEnd = 0
        /// The range of the origin, including the comma before it.
        var origin: Range<Int>?
    }

    /// The whole JSON object.
    var text: UnsafeRawBufferPointer { json.raw }

    /// The position of one of the match's values in ``text``.
    func range(of value: JSONValue) -> Range<Int> {
        let start = value.offset - json.offset
        return start..<start + value.raw.count
    }

    var layout: Layout {
        var layout = Layout()
        var end = 0
        for (key, value) in json.members {
            let valueEnd = range(of: value).upperBound
            if end == 0 { layout.typeEnd = valueEnd }
            if end > 0, key.equals(.origin) { layout.origin = end..<valueEnd }
            end = valueEnd
        }
        return layout
    }

    /// Writes a notification for this match alone.
    @inline(__always)
    func writeNotification(atLimit: AtLimit?, into buffer: inout ByteBuffer) {
        var members = json.members
        guard let type = members.next() else { return }
        buffer.appendNotification(causes: CollectionOfOne(change), atLimit: atLimit)
        buffer.append(UnsafeRawBufferPointer(rebasing: text[range(of: type.value).upperBound...]))
    }
}

extension ByteBuffer {
    /// Writes the start of a notification. The caller then writes the members of the match, except its type.
    mutating func appendNotification(causes: some Sequence<UInt64>, atLimit: AtLimit?) {
        begin(event: EventName.notification)
        append(member: .causes)
        append("[")
        var isFirst = true
        for change in causes {
            append(isFirst ? "{\"log\":\"changes\",\"sequence\":" : ",{\"log\":\"changes\",\"sequence\":")
            appendJSON(change)
            append(byte: UInt8(ascii: "}"))
            isFirst = false
        }
        append(byte: UInt8(ascii: "]"))
        guard let atLimit else { return }
        append(member: .atLimit)
        appendJSON(atLimit.rawValue)
    }
}
