import JSON
import StageTool

/// A value that an event must contain somewhere.
enum RequiredValue {
    /// A key or a string.
    case text(ExactText)
    case sequence(UInt64)
}

/// Searches lines for required values without parsing the lines. Rejects a line if a value is certainly missing. Never
/// rejects a line that has all values, whatever its blanks, escapes and order of members. Does not search for a text
/// that JSON can write in several ways, such as a text with `/`.
struct LineFilter {
    private var texts: [ByteSearch] = []
    private var sequences: [ByteSearch] = []

    private static let escape = ByteSearch("\\u00")

    init(_ values: [RequiredValue]) {
        for value in values {
            switch value {
            case .text(let text) where LineFilter.isPlain(text.string): texts.append(ByteSearch("\"\(text)\""))
            case .text: continue
            // Events write a sequence without a fraction or an exponent.
            case .sequence(let sequence): sequences.append(ByteSearch("\(sequence)"))
            }
        }
    }

    /// Whether a line, or a batch of lines, may contain all values. False only if a value is certainly missing.
    func mayContainAllValues(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard sequences.allSatisfy({ $0.isFound(in: bytes) }) else { return false }
        return texts.allSatisfy { $0.isFound(in: bytes) } || LineFilter.escape.isFound(in: bytes)
    }

    /// Whether JSON has only one way to write the text, apart from `\u00..`.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && !"\"\\/".utf8.contains($0) }
    }
}
