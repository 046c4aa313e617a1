import JSON
import Time

extension ByteBuffer {
    /// Appends `,"name":`, for its value to follow.
    @inlinable
    @inline(__always)
    package mutating func append(member: Member) {
        append(",\"")
        append(member)
        append("\":")
    }

    /// Appends `{"name":`, for its value to follow.
    @inlinable
    @inline(__always)
    package mutating func append(first member: Member) {
        append("{\"")
        append(member)
        append("\":")
    }

    /// Appends `{"type":"name"`, for members to follow.
    @inlinable
    @inline(__always)
    package mutating func begin(event name: StaticString) {
        append("{\"type\":\"")
        append(name)
        append("\"")
    }

    package mutating func append(_ member: Member, _ text: String) {
        append(member: member)
        appendJSON(text)
    }

    /// - Parameter word: Needs no escapes.
    @inlinable
    @inline(__always)
    package mutating func append(_ member: Member, word: StaticString) {
        append(member: member)
        append("\"")
        append(word)
        append("\"")
    }

    /// - Parameter text: UTF-8.
    package mutating func append(_ member: Member, utf8 text: ArraySlice<UInt8>) {
        append(member: member)
        text.withUnsafeBytes { appendJSON(utf8: $0) }
    }

    package mutating func append(_ member: Member, _ flag: Bool) {
        append(member: member)
        appendJSON(flag)
    }

    package mutating func append(_ member: Member, _ number: Int) {
        append(member: member)
        appendJSON(number)
    }

    package mutating func append(_ member: Member, _ sequence: UInt64) {
        append(member: member)
        appendJSON(sequence)
    }

    package mutating func append(_ member: Member, _ time: Instant) {
        append(member: member)
        appendJSON(time.rfc3339)
    }

    /// Appends the value as it stands; nothing where there is none.
    @inlinable
    @inline(__always)
    package mutating func append(_ member: Member, _ value: JSONValue?) {
        guard let value else { return }
        append(member: member)
        append(value.raw)
    }
}
