import JSON

/// An error in a JSON object that a user wrote.
package struct FieldError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The keys that lead to the error, such as `do.goaway.code`. Empty if the error is in the outermost object itself,
    /// or if the text cannot be read as JSON.
    package var path: String
    package var reason: String

    package init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    package var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

/// Reads a JSON object key by key. ``finish()`` rejects keys that were not asked for.
struct FieldReader {
    let object: JSONValue
    let path: String
    private var asked: [String] = []

    init(_ object: JSONValue, at path: String = "") throws(FieldError) {
        guard object.isObject else { throw FieldError(path, "expected a JSON object") }
        self.object = object
        self.path = path
    }

    mutating func value(_ key: String) -> JSONValue? {
        asked.append(key)
        return object.member(key)
    }

    mutating func string(_ key: String) throws(FieldError) -> String? {
        guard let value = value(key) else { return nil }
        guard let string = value.string else { throw error(key, "expected a string") }
        return string
    }

    mutating func flag(_ key: String) throws(FieldError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard let flag = value.bool else { throw error(key, "expected true or false") }
        return flag
    }

    mutating func integer(_ key: String, _ range: ClosedRange<Int64>) throws(FieldError) -> Int64? {
        guard let value = value(key) else { return nil }
        guard let number = value.int64, range.contains(number) else {
            throw error(key, "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A whole number of at least 1.
    mutating func count(_ key: String) throws(FieldError) -> Int? {
        try integer(key, 1...1_000_000_000).map { Int($0) }
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ target: inout Choice
    ) throws(FieldError) {
        target = try choice(key) ?? target
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String
    ) throws(FieldError) -> Choice? {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw error(key, "expected one of \(choices), found \(text.debugDescription)")
        }
        return choice
    }

    mutating func nested(_ key: String) throws(FieldError) -> FieldReader? {
        guard let value = value(key) else { return nil }
        return try FieldReader(value, at: join(key))
    }

    /// - Throws: ``FieldError`` for the first key that was not asked for.
    func finish() throws(FieldError) {
        for (key, _) in object.members {
            let name = key.string ?? ""
            guard !asked.contains(name) else { continue }
            let advice = Spelling.suggestion(for: name, among: asked) ?? "known: \(asked.joined(separator: ", "))"
            throw FieldError(path, "unknown key \"\(name)\"; \(advice)")
        }
    }

    func error(_ key: String, _ reason: String) -> FieldError { FieldError(join(key), reason) }

    private func join(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}
