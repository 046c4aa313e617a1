import CloudKitModel
import JSON
import Testing

/// The error that a check throws for a JSON text; nil if the text passes.
func error(
    in text: String, _ check: (JSONValue) throws(ModelError) -> Void
) throws -> ModelError? {
    var text = text
    return try text.withUTF8 { bytes -> ModelError? in
        var parser = JSONParser()
        let json = try parser.parse(UnsafeRawBufferPointer(bytes))
        do throws(ModelError) { try check(json) } catch { return error }
        return nil
    }
}

func fieldsError(_ text: String) throws -> ModelError? {
    try error(in: text) { json throws(ModelError) in try Fields.check(json) }
}

func subscriptionError(
    _ text: String, in scope: DatabaseScope = .private, allowsAnyScope: Bool = false
) throws -> ModelError? {
    try error(in: text) { json throws(ModelError) in
        _ = try Subscription(json, in: scope, allowsAnyScope: allowsAnyScope)
    }
}

func infoError(_ text: String) throws -> ModelError? {
    try error(in: text) { json throws(ModelError) in try NotificationInfo.check(json) }
}

/// A text that must be refused, and the expected error.
struct RefusedText: Sendable, CustomTestStringConvertible {
    let text: String
    let error: ModelError

    init(_ text: String, _ code: String, at path: String, _ reason: String) {
        self.text = text
        error = ModelError(code, at: path, reason)
    }

    var testDescription: String { text }
}
