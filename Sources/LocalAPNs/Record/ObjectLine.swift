import JSON

/// A JSON object in one line, member by member.
struct ObjectLine: ~Copyable {
    private var buffer = ByteBuffer()
    private var isEmpty = true

    init() { buffer.append("{") }

    var text: String { buffer.text + "}" }

    mutating func add(_ key: String, _ value: String?) {
        guard let value, begin(key) else { return }
        buffer.appendJSON(value)
    }

    mutating func add(_ key: String, _ value: Int64?) {
        guard let value, begin(key) else { return }
        buffer.appendJSON(value)
    }

    mutating func add(_ key: String, _ value: Int?) { add(key, value.map { Int64($0) }) }

    mutating func add(_ key: String, _ value: Bool) {
        guard begin(key) else { return }
        buffer.appendJSON(value)
    }

    mutating func add(_ key: String, _ values: [String]) {
        guard begin(key) else { return }
        buffer.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.appendJSON(value)
        }
        buffer.append("]")
    }

    /// - Parameter value: JSON as it is to stand.
    mutating func add(_ key: String, raw value: String?) {
        guard let value, begin(key) else { return }
        buffer.append(raw: value)
    }

    private mutating func begin(_ key: String) -> Bool {
        if !isEmpty { buffer.append(",") }
        isEmpty = false
        buffer.appendJSON(key)
        buffer.append(":")
        return true
    }
}
