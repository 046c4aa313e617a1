import JSON
import StageTool

/// A value that an event must contain somewhere.
enum RequiredValue {
    /// A key or a string.
    case text(ExactText)
    case number(UInt64)
}

/// Rejects lines that lack a required value, without parsing the lines. Blanks, escapes and the order of members do not
/// matter.
struct LineFilter {
    private var texts: [ByteSearch] = []
    private var numbers: [ByteSearch] = []

    private static let escape = ByteSearch("\\u00")

    init(_ values: [RequiredValue]) {
        for value in values {
            switch value {
            case .text(let text) where LineFilter.isPlain(text.string): texts.append(ByteSearch("\"\(text)\""))
            case .text: continue
            // In events, sequences are written without fraction and exponent.
            case .number(let number): numbers.append(ByteSearch("\(number)"))
            }
        }
    }

    /// Whether a line may contain all values. False only if a value is surely missing.
    func mayAccept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard numbers.allSatisfy({ $0.isFound(in: bytes) }) else { return false }
        return texts.allSatisfy { $0.isFound(in: bytes) } || LineFilter.escape.isFound(in: bytes)
    }

    /// Whether JSON has only one way to write the text, apart from `\u00..`.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && !"\"\\/".utf8.contains($0) }
    }
}
