/// A text that is compared, sorted and hashed by its bytes, like the names in events.
///
/// Swift's own `==`, `<` and `hash` treat canonically equivalent strings as equal (The Unicode Standard, section 3.7),
/// such as U+00E9 and e with U+0301. The stages treat them as two names, so tools have to do the same.
package struct ExactText: Hashable, Comparable, Sendable {
    package let string: String

    package init(_ string: String) { self.string = string }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        unsafe left.withUTF8 { left in unsafe right.withUTF8 { unsafe left.isSame(as: $0) } }
    }

    /// The order of UTF-8 bytes is the order of Unicode scalars.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        unsafe withUTF8 { bytes in
            hasher.combine(bytes.count)
            unsafe hasher.combine(bytes: bytes)
        }
    }

    package func map(_ change: (String) -> String) -> ExactText { ExactText(change(string)) }

    private func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var string = string
        return string.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringInterpolation {
    package var description: String { string }
    package init(stringLiteral string: String) { self.init(string) }
}

extension JSONValue {
    /// The decoded text, compared by its bytes; nil if this is not a string.
    package var exact: ExactText? { string.map { ExactText($0) } }
}
