import JSON

@testable import Predicates

/// Parses a JSON text and calls `body` with its value.
func withJSON<Result>(_ text: String, _ body: (JSONValue) throws -> Result) throws -> Result {
    var parser = JSONParser()
    var text = text
    return try text.withUTF8 { try body(parser.parse(UnsafeRawBufferPointer($0))) }
}

extension RecordPredicate {
    static func filter(_ filterBy: String) throws -> RecordPredicate {
        try withJSON(filterBy) { try RecordPredicate(filterBy: $0) }
    }

    func matches(_ fields: String) throws -> Bool { try withJSON(fields) { matches($0) } }

    /// - Parameter record: A record dictionary with its fields.
    func matches(record: String) throws -> Bool {
        try withJSON(record) { matches($0["fields"], of: $0) }
    }
}

extension PredicateReader {
    /// - Parameter query: The members of a query, without the braces.
    func read(_ query: String) throws -> Reading { try withJSON("{\(query)}") { try read(query: $0) } }

    func predicate(_ text: String) throws -> RecordPredicate { try read(text: text).predicate }
}

extension PredicateError {
    /// The reason. If the error has an offset, an excerpt of the text with a caret comes first.
    func rendered(in text: String) -> String {
        offset.map { "\(PredicateError.excerpt(of: text, at: $0)) \(reason)" } ?? reason
    }
}

/// The fields of a record: one field `f` with the given value, or no field if the value is nil.
func fields(_ value: String?) -> String { value.map { #"{"f":{"value":\#($0)}}"# } ?? "{}" }
