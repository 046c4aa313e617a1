extension BinaryInteger {
    /// The number with commas between thousands: `12,345`.
    package var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + text
    }

    /// The number with its noun: `1 line`, `2 lines`.
    package func of(_ noun: String) -> String {
        "\(grouped) \(noun)\(self == 1 ? "" : noun.hasSuffix("h") ? "es" : "s")"
    }
}
