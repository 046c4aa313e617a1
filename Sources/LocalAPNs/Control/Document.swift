import JSON

/// JSON that a user wrote.
enum Document {
    static func read<Value>(
        _ text: String, _ body: (JSONValue) throws(FieldError) -> Value
    ) throws(FieldError) -> Value {
        var parser = JSONParser(limits: JSONLimits(refusesDuplicateKeys: true))
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { buffer -> Result<Value, FieldError> in
            do throws(JSONError) {
                let json = try parser.parse(buffer)
                do throws(FieldError) { return .success(try body(json)) } catch { return .failure(error) }
            } catch {
                return .failure(FieldError("", "the line cannot be read as JSON: \(error)"))
            }
        }
        return try result.get()
    }
}

/// An error in a file that has one JSON object on each line.
package struct LineError: Error, Equatable, Sendable, CustomStringConvertible {
    package var file: String
    package var line: Int
    package var fault: FieldError

    package var description: String { "\(file):\(line): \(fault)" }
}

/// Reads files that have one JSON object on each line. Empty lines and lines that begin with `#` are skipped.
package enum LineFile {
    package static func script(_ text: String, name: String) throws(LineError) -> [ScriptLine] {
        try read(text, name) { (json) throws(FieldError) in try ScriptLine(json) }
    }

    package static func devices(_ text: String, name: String) throws(LineError) -> [Device] {
        try read(text, name) { (json) throws(FieldError) in
            var fields = try FieldReader(json)
            return try Device(&fields)
        }
    }

    private static func read<Value>(
        _ text: String, _ name: String, _ body: (JSONValue) throws(FieldError) -> Value
    ) throws(LineError) -> [Value] {
        var values: [Value] = []
        // In Swift "\r\n" is one character. A split at "\n" alone would not separate lines that end with "\r\n".
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let content = line.drop { $0 == " " || $0 == "\t" }
            guard !content.isEmpty, content.first != "#" else { continue }
            do throws(FieldError) { values.append(try Document.read(String(line), body)) } catch {
                throw LineError(file: name, line: index + 1, fault: error)
            }
        }
        return values
    }
}

extension Device {
    /// `{"token":…,"topic":…,"environment":…,"state":…,"since":…}`
    init(_ fields: inout FieldReader) throws(FieldError) {
        guard let text = try fields.string("token"), let token = DeviceToken.normalized(text) else {
            throw fields.error("token", "expected an even number of hex digits, 2 to 512")
        }
        guard let topic = try fields.string("topic") else { throw fields.error("topic", "the bundle ID is missing") }
        self.init(token: token, bundle: topic, environment: try fields.choice("environment"))
        try fields.choice("state", &state)
        since = try fields.integer("since", 0...Int64.max)
        try fields.finish()
    }
}
