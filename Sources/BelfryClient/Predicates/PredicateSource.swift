import Foundation
import JSON

/// A predicate in the form of a query dictionary: a text and the values of its placeholders.
struct PredicateSource: Sendable {
    var text: String
    var arguments: [PredicateArgument] = []

    /// The first argument that a query cannot contain: its number from 1, and the reason.
    var refusedArgument: (number: Int, reason: String)? {
        for (index, argument) in arguments.enumerated() {
            if case .refused(let reason) = argument { return (index + 1, reason) }
        }
        return nil
    }

    init(text: String, arguments: [PredicateArgument] = []) {
        (self.text, self.arguments) = (text, arguments)
    }

    /// - Parameter format: The text with `%@` and `%K`, and with C's `%d`, `%f` and so on, which become `%@`.
    init(format: String, arguments: [PredicateArgument]) {
        let text = format.replacing(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|%(?:ll|l|q|h)?[diufg]/) { match in
            match.output.hasPrefix("%") ? "%@" : match.output
        }
        self.init(text: text, arguments: arguments)
    }

    /// An equivalent predicate.
    var predicate: NSPredicate {
        switch text {
        case "TRUEPREDICATE": NSPredicate(value: true)
        case "FALSEPREDICATE": NSPredicate(value: false)
        default: TextPredicate(self)
        }
    }

    /// Nil for a block, or for a compound that contains a block.
    init?(_ predicate: NSPredicate) {
        switch predicate {
        case let predicate as TextPredicate: self = predicate.source
        case let compound as NSCompoundPredicate: self.init(compound)
        default: self.init(constant: (predicate as any FormattedPredicate).predicateFormat)
        }
    }

    private init?(constant text: String) {
        guard ["TRUEPREDICATE", "FALSEPREDICATE"].contains(text) else { return nil }
        self.init(text: text)
    }

    private init?(_ compound: NSCompoundPredicate) {
        let parts = compound.subpredicates.compactMap { PredicateSource($0) }
        guard parts.count == compound.subpredicates.count else { return nil }
        let texts = parts.map { "(\($0.text))" }
        arguments = parts.flatMap(\.arguments)
        switch compound.compoundPredicateType {
        case .not: text = "NOT \(texts.first ?? "")"
        case .and: text = texts.isEmpty ? "TRUEPREDICATE" : texts.joined(separator: " AND ")
        case .or: text = texts.isEmpty ? "FALSEPREDICATE" : texts.joined(separator: " OR ")
        }
    }
}

extension PredicateSource {
    /// Reads the `predicate` and `arguments` of a query dictionary.
    init?(json query: JSONValue) {
        guard let text = query["predicate"]?.string else { return nil }
        self.text = text
        arguments = query["arguments"]?.elements.map { .json(String(decoding: $0.raw, as: UTF8.self)) } ?? []
    }

    func writeMembers(into buffer: inout ByteBuffer) {
        buffer.append("predicate", text)
        guard !arguments.isEmpty else { return }
        buffer.append(",\"arguments\":")
        writeArguments(into: &buffer)
    }

    func writeArguments(into buffer: inout ByteBuffer) {
        buffer.list(arguments) { $0.append(raw: $1.text) }
    }
}

/// Reads `TRUEPREDICATE` and `FALSEPREDICATE` from Foundation's `predicateFormat`, without the warning that this
/// property is deprecated.
private protocol FormattedPredicate {
    var predicateFormat: String { get }
}

extension NSPredicate: FormattedPredicate {}
