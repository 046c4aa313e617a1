import JSON
import TestSupport

/// Formats JSON as other programs may: with spaces after colons and commas, with escaped characters, and with members
/// in random order. Only `type` always comes first.
struct OtherJSONFormat {
    private var random: Seeded

    init(seed: UInt64) { random = Seeded(seed) }

    mutating func line(_ text: String) -> String {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 1 << 26, depthMax: 512))
        return Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return written(try parser.parse(bytes)) } catch { return text }
        }
    }

    private mutating func written(_ value: JSONValue) -> String {
        switch value.kind {
        case .object:
            let members = Array(value.members).shuffled(using: &random).sorted {
                $0.key.equals("type") && !$1.key.equals("type")
            }
            return "{" + members.map { "\(text($0.key)): \(written($0.value))" }.joined(separator: ", ") + "}"
        case .array: return "[" + value.elements.map { written($0) }.joined(separator: ", ") + "]"
        case .string: return text(value)
        default: return String(decoding: value.raw, as: UTF8.self)
        }
    }

    private mutating func text(_ value: JSONValue) -> String {
        "\"" + (value.string ?? "").utf16.map { unit($0) }.joined() + "\""
    }

    /// Escapes each UTF-16 unit that is not an ASCII letter, and about one in twelve ASCII letters, as in `\u00e9`.
    private mutating func unit(_ unit: UInt16) -> String {
        let isPlain = unit < 0x80 && Character(Unicode.Scalar(UInt8(unit))).isLetter
        guard !isPlain || random.isOneIn(12) else { return String(UnicodeScalar(UInt8(unit))) }
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
