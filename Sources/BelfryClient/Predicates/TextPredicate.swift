import Foundation
import JSON
import Predicates

/// A predicate made from text.
final class TextPredicate: NSPredicate {
    let source: PredicateSource

    init(_ source: PredicateSource) {
        self.source = source
        super.init(value: false)
    }

    override var predicateFormat: String { source.text }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = (object as? TextPredicate)?.source else { return false }
        return source.text.hasSameBytes(as: other.text) && source.arguments == other.arguments
    }

    override var hash: Int { source.text.byteHash }

    override var description: String { source.text }

    /// Whether the object's fields match the predicate. False if the text is not a valid predicate, or the object is
    /// not a dictionary of field values.
    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        guard let fields = object as? [String: Any] else { return false }
        do { return try matches(fields) } catch { return false }
    }

    private func matches(_ fields: [String: Any]) throws -> Bool {
        var arguments = ByteBuffer()
        source.writeArguments(into: &arguments)
        var parser = JSONParser()
        let reading = try PredicateReader(.extended).read(
            text: source.text, arguments: source.arguments.isEmpty ? nil : parser.parse(arguments.bytes))
        let record = ByteBuffer.object { record in
            for field in fields {
                record.append(key: field.key)
                record.object { $0.append("value", raw: PredicateArgument(value: field.value).text) }
            }
        }
        var recordParser = JSONParser()
        let now = Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))
        return reading.predicate.matches(try recordParser.parse(record.bytes), now: now)
    }
}
