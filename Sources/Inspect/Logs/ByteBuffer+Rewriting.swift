import JSON

extension ByteBuffer {
    /// Writes an object anew, its keys as they are; what is no object is copied.
    ///
    /// - Parameter write: Appends a member's value, or returns false to leave the member out.
    package mutating func rewrite(
        _ object: JSONValue, _ write: (_ key: JSONValue, _ value: JSONValue, inout ByteBuffer) -> Bool
    ) {
        guard object.isObject else { return append(object.raw) }
        self.object { buffer in
            for (key, value) in object.members {
                let start = buffer.count
                buffer.appendSeparator()
                buffer.append(key.raw)
                buffer.append(":")
                if !write(key, value, &buffer) { buffer.truncate(to: start) }
            }
        }
    }
}
