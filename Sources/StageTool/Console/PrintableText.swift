extension String {
    private static let printableMax = 200

    /// For one line among many: no more than a glance takes in, and ``withoutControls``.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(String.printableMax))).withoutControls
    }

    /// Without what would move the cursor: users write these texts, and terminals obey.
    package var withoutControls: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
