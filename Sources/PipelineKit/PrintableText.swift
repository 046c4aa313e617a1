extension String {
    private static let printableMax = 200

    /// For one line among many: no more than a glance takes in, and ``withoutControls``.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(String.printableMax))).withoutControls
    }

    /// Without what would move the cursor, start a new line or turn the reading direction: users write these texts, and
    /// terminals obey.
    package var withoutControls: String { withoutControls(keepingJoiners: false) }

    /// - Parameter keepingJoiners: Keeps U+200D, which makes one emoji of several.
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
