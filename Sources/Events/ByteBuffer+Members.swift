import JSON
import Time

extension ByteBuffer {
    /// Appends `{"name":`. Append the value next.
    @inlinable
    @inline(__always)
    package mutating func append(first member: Member) {
        append("{\"")
        append(member)
        append("\":")
    }

    /// Appends `{"type":"name"`. Append the other members next.
    @inlinable
    @inline(__always)
    package mutating func begin(event name: StaticString) {
        append("{\"type\":\"")
        append(name)
        append("\"")
    }

    package mutating func append(_ member: Member, _ time: Instant?) { append(member, time?.rfc3339) }
}
