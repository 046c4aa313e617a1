import JSON

/// A JSON object in one line, member by member.
struct JSONLine: ~Copyable {
    private var buffer = ByteBuffer()
    private var isEmpty = true

    init() { buffer.append("{") }

    /// The whole object.
    var text: String { buffer.text + "}" }

    mutating func add(_ key: StaticString, _ value: String) {
        begin(key)
        buffer.appendJSON(value)
    }

    mutating func add(_ key: StaticString, _ value: UInt64) {
        begin(key)
        buffer.appendJSON(value)
    }

    mutating func add(_ key: StaticString, _ value: Int) {
        begin(key)
        buffer.appendJSON(value)
    }

    mutating func add(_ key: StaticString, _ value: Double) {
        begin(key)
        buffer.appendJSON(value)
    }

    mutating func add(_ key: StaticString, _ value: Bool) {
        begin(key)
        buffer.appendJSON(value)
    }

    mutating func add(_ key: StaticString, _ values: [String]) {
        begin(key)
        buffer.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.appendJSON(value)
        }
        buffer.append("]")
    }

    /// - Parameter value: JSON as it is to stand.
    mutating func add(_ key: StaticString, raw value: String) {
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
