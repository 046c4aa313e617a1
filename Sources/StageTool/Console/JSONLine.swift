import JSON

/// A JSON object in one line, member by member.
package struct JSONLine: ~Copyable {
    private var buffer = ByteBuffer()
    private var isEmpty = true

    package init() { buffer.append("{") }

    /// The whole object.
    package var text: String { buffer.text + "}" }

    package mutating func add(_ key: StaticString, _ value: String) {
        begin(key)
        buffer.appendJSON(value)
    }

    package mutating func add(_ key: StaticString, _ value: UInt64) {
        begin(key)
        buffer.appendJSON(value)
    }

    package mutating func add(_ key: StaticString, _ value: Int) {
        begin(key)
        buffer.appendJSON(value)
    }

    package mutating func add(_ key: StaticString, _ value: Double) {
        begin(key)
        buffer.appendJSON(value)
    }

    package mutating func add(_ key: StaticString, _ value: Bool) {
        begin(key)
        buffer.appendJSON(value)
    }

    package mutating func add(_ key: StaticString, _ values: [String]) {
        begin(key)
        buffer.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.appendJSON(value)
        }
        buffer.append("]")
    }

    /// - Parameter value: JSON as it is to stand.
    package mutating func add(_ key: StaticString, raw value: String) {
        begin(key)
        buffer.append(raw: value)
    }

    private mutating func begin(_ key: StaticString) {
        if !isEmpty { buffer.append(",") }
        isEmpty = false
        buffer.append("\"")
        buffer.append(key)
        buffer.append("\":")
    }
}
