import JSON

extension ByteBuffer {
    /// Appends a JSON object with new values for its members. If `object` is another kind of JSON value, appends it
    /// unchanged.
    ///
    /// - Parameter write: Appends the value of a member, or returns false to leave the member out.
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
