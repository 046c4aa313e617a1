import JSON
import StageTool

/// A value that an event holds somewhere.
enum HeldValue {
    /// A key or a string.
    case text(ExactText)
    /// A whole number.
    case number(UInt64)
}

/// Tells unread that a line cannot hold some values, in whatever way its JSON is written: with blanks, with escapes for
/// letters, with members in any order.
struct LineFilter {
    private var texts: [ByteSearch] = []
    private var numbers: [ByteSearch] = []

    private static let escape = ByteSearch("\\u00")

    init(_ values: [HeldValue]) {
        for value in values {
            switch value {
            case .text(let text) where LineFilter.isPlain(text.string): texts.append(ByteSearch("\"\(text)\""))
            case .text: continue
            // Without fraction and exponent: events hold no other positions.
            case .number(let number): numbers.append(ByteSearch("\(number)"))
            }
        }
    }

    /// False only where one of the values is not there.
    func mayAccept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard numbers.allSatisfy({ $0.isFound(in: bytes) }) else { return false }
        return texts.allSatisfy { $0.isFound(in: bytes) } || LineFilter.escape.isFound(in: bytes)
    }

    /// Whether JSON may write the text in one way only, but for `\u00..`.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && !"\"\\/".utf8.contains($0) }
    }
}
