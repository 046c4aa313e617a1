/// A text that equals another only where all its bytes do: what names are compared, sorted and looked up as.
///
/// Swift's own `==`, `<` and `hash` take canonically equivalent strings for one (The Unicode Standard, section 3.7), such
/// as é as U+00E9 and as e with U+0301. To the stages these are two names, and so they must be to whoever tells of them.
package struct ExactText: Hashable, Comparable, Sendable {
    package let string: String

    package init(_ string: String) { self.string = string }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        unsafe left.withUTF8 { left in unsafe right.withUTF8 { unsafe left.isSame(as: $0) } }
    }

    /// By UTF-8 bytes, which is the order of Unicode scalars.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        unsafe withUTF8 { bytes in
            hasher.combine(bytes.count)
            unsafe hasher.combine(bytes: bytes)
        }
    }

    /// What a text becomes, such as its pseudonym.
    package func map(_ change: (String) -> String) -> ExactText { ExactText(change(string)) }

    private func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var string = string
        return string.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}

extension ExactText: CustomStringConvertible {
    package var description: String { string }
}

extension ExactText: ExpressibleByStringInterpolation {
    package init(stringLiteral string: String) { self.init(string) }
}

extension JSONValue {
    /// The decoded text, to be compared byte by byte; nil for what is no string.
    package var exact: ExactText? { string.map { ExactText($0) } }
}
