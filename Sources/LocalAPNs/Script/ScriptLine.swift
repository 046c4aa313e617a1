import JSON

/// A line of a script: a rule, or all quirks at once.
package enum ScriptLine: Sendable {
    case rule(Script.Rule)
    /// Quirks that the line does not name have their defaults.
    case quirks(Quirks)

    init(_ json: JSONValue, at path: String = "") throws(FieldError) {
        var fields = try FieldReader(json, at: path)
        guard var reader = try fields.nested("quirks") else {
            self = .rule(try Script.Rule(&fields))
            return
        }
        var quirks = Quirks()
        try quirks.read(&reader)
        try fields.finish()
        self = .quirks(quirks)
    }
}
