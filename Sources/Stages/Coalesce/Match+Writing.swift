import Events
import JSON

extension Match {
    /// Where a match's text is cut to become a notification, in bytes from its start.
    struct Layout {
        /// The end of the type, the first member's value.
        var typeEnd = 0
        /// The origin, with the comma before it.
        var origin: Range<Int>?
    }

    /// The match's text, from brace to brace.
    var text: UnsafeRawBufferPointer { json.raw }

    /// Where a value of the match stands in ``text``.
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

    /// Writes the notification that this match alone leads to.
    @inline(__always)
    func writeNotification(atLimit: AtLimit?, into buffer: inout ByteBuffer) {
        var members = json.members
        guard let type = members.next() else { return }
        buffer.appendNotification(causes: CollectionOfOne(change), atLimit: atLimit)
        buffer.append(UnsafeRawBufferPointer(rebasing: text[range(of: type.value).upperBound...]))
    }
}

extension ByteBuffer {
    /// Writes a notification up to what follows a match's type.
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
