import Time

/// Reads dates as milliseconds since 1970, the unit of timestamp fields.
enum Dates {
    static let rule =
        "a date must be seconds since 2001, or text such as '2026-01-31T12:00:00Z' (RFC 3339, years 0001 to 9999)"

    /// - Parameter value: Seconds since 2001-01-01 (NSDate), or RFC 3339 text.
    static func milliseconds(_ value: FieldValue) throws(BrokenRule) -> FieldValue {
        switch value {
        case .integer(let seconds):
            let (sum, overflows) = seconds.addingReportingOverflow(referenceSeconds)
            let (product, overflowsToo) = sum.multipliedReportingOverflow(by: 1000)
            guard !overflows, !overflowsToo else { throw BrokenRule(rule) }
            return .integer(product)
        case .double(let seconds):
            let milliseconds = (seconds + Double(referenceSeconds)) * 1000
            guard milliseconds.isFinite else { throw BrokenRule(rule) }
            return Int64(exactly: milliseconds).map { .integer($0) } ?? .double(milliseconds)
        case .text(let text):
            guard let milliseconds = parse(text) else { throw BrokenRule(rule) }
            return .integer(milliseconds)
        default: throw BrokenRule(rule)
        }
    }

    // NSDate's reference date, 2001-01-01T00:00:00Z, in seconds since 1970.
    private static let referenceSeconds: Int64 = 978_307_200

    /// Parses text such as `2026-01-31T12:00:00.5+01:00`. Fractions are cut to milliseconds.
    private static func parse(_ text: [UInt8]) -> Int64? {
        guard (20...64).contains(text.count), text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] | 0x20 == UInt8(ascii: "t") || text[10] == 0x20, text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"), let year = number(text[..<4]), let month = number(text[5..<7]),
            let day = number(text[8..<10]), let hour = number(text[11..<13]), let minute = number(text[14..<16]),
            let second = number(text[17..<19])
        else { return nil }
        guard year > 0, let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second < 60,
            let (thousandths, rest) = fraction(text[19...]), let offset = offset(rest)
        else { return nil }
        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
        return (minutes * 60 + second) * 1000 + thousandths
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ Lexer.isDigit($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func fraction(_ text: ArraySlice<UInt8>) -> (thousandths: Int64, rest: ArraySlice<UInt8>)? {
        guard text.first == UInt8(ascii: ".") else { return (0, text) }
        let digits = text.dropFirst().prefix { Lexer.isDigit($0) }
        let padded = Array(digits.prefix(3)) + [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
        guard !digits.isEmpty, let thousandths = number(padded[...]) else { return nil }
        return (thousandths, text[digits.endIndex...])
    }

    /// Parses the offset from UTC at the end of a date. The result is in minutes; offsets east of Greenwich are
    /// positive.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
        let text = Array(text)
        if text == [UInt8(ascii: "Z")] || text == [UInt8(ascii: "z")] { return 0 }
        guard text.count == 6, text[3] == UInt8(ascii: ":"), let hour = number(text[1..<3]),
            let minute = number(text[4..<6]), hour < 24, minute < 60
        else { return nil }
        switch text[0] {
        case UInt8(ascii: "+"): return hour * 60 + minute
        case UInt8(ascii: "-"): return -(hour * 60 + minute)
        default: return nil
        }
    }
}
