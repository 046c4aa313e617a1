extension String {
    private static let printableMax = 200

    /// The text as one line of a list: its first 200 characters, escaped as in ``withoutControls``.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(String.printableMax))).withoutControls
    }

    /// Escapes characters that move the cursor, start a new line or change the reading direction. Users write these
    /// strings, and a terminal would obey such characters.
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
