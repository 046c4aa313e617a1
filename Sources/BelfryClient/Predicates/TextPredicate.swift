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

    override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: source.text)
        return hasher.finalize()
    }

    override var description: String { source.text }

    /// False where the text is no predicate, or the object no dictionary of field values.
    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        guard let fields = object as? [String: Any] else { return false }
        do {
            return try holds(for: fields)
        } catch {
            return false
        }
    }

    private func holds(for fields: [String: Any]) throws -> Bool {
        var arguments = ByteBuffer()
        source.writeArguments(into: &arguments)
        var parser = JSONParser()
        let reading = try PredicateReader(.extended).read(
            text: source.text, arguments: source.arguments.isEmpty ? nil : parser.parse(arguments.bytes))
        var record = ByteBuffer()
        TextPredicate.write(fields, into: &record)
        var recordParser = JSONParser()
        let now = Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))
        return reading.predicate.matches(try recordParser.parse(record.bytes), now: now)
    }

    private static func write(_ fields: [String: Any], into buffer: inout ByteBuffer) {
        buffer.append("{")
        for field in fields {
            buffer.append(key: field.key)
            buffer.object { $0.append("value", raw: PredicateArgument(value: field.value).text) }
        }
        buffer.append("}")
    }
}
