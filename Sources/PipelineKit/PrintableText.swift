extension String {
    private static let printableMax = 200

    /// The text as one line of a list: its first 200 Unicode scalars, escaped as in ``withoutControls``.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(String.printableMax))).withoutControls
    }

    /// Escapes control, format and private-use characters, and characters that separate lines or paragraphs. Users
    /// write these strings, and such a character could make a terminal move its cursor or change the reading direction.
    package var withoutControls: String { withoutControls(keepingJoiners: false) }

    /// - Parameter keepingJoiners: Whether to keep U+200D, which joins several emoji into one.
    package func withoutControls(keepingJoiners: Bool) -> String {
        unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse:
                guard keepingJoiners, scalar.value == 0x200D else {
                    result += "\\u{\(String(scalar.value, radix: 16))}"
                    return
                }
                result.unicodeScalars.append(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
