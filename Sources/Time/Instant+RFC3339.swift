// RFC 3339, section 5.6. The conversion of days uses years that begin in March. The leap day is the last day of such a
// year, and the number of days before a month is a linear function of the month's number, rounded down.

extension Instant: CustomStringConvertible {
    /// Parses an RFC 3339 string. Nil if the string is not a valid time.
    ///
    /// Accepts any offset, and `T` and `Z` in upper or lower case. A fraction has one to nine digits, and is rounded
    /// down to microseconds. The time must be between ``epoch`` and ``distantFuture``. Second 60 is rejected,
    /// because POSIX time does not have it.
    public init?(rfc3339 text: some StringProtocol) {
        var text = String(text)
        guard let moment = text.withUTF8({ Instant(rfc3339: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = moment
    }

    /// Parses bytes like ``init(rfc3339:)-(StringProtocol)``.
    package init?(rfc3339 bytes: UnsafeRawBufferPointer) {
        var scanner = DateScanner(bytes: bytes)
        guard let moment = scanner.moment(), moment >= .epoch, moment <= .distantFuture else { return nil }
        self = moment
    }

    /// The time in UTC with `Z`. A fraction that is not zero has three or six digits.
    public var rfc3339: String {
        String(unsafeUninitializedCapacity: 32) { writeRFC3339(into: $0.baseAddress!) }
    }

    public var description: String { rfc3339 }

    /// Writes ``rfc3339`` as ASCII and returns the number of bytes, at most 32.
    private func writeRFC3339(into start: UnsafeMutablePointer<UInt8>) -> Int {
        let (seconds, fraction) = microseconds.dividedDown(by: 1_000_000)
        let (days, secondOfDay) = seconds.dividedDown(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        var writer = DigitWriter(next: start)
        writer.put(date.year, digits: 4)
        writer.put("-", date.month, digits: 2)
        writer.put("-", date.day, digits: 2)
        writer.put("T", secondOfDay / 3600, digits: 2)
        writer.put(":", secondOfDay / 60 % 60, digits: 2)
        writer.put(":", secondOfDay % 60, digits: 2)
        if fraction % 1000 != 0 {
            writer.put(".", fraction, digits: 6)
        } else if fraction != 0 {
            writer.put(".", fraction / 1000, digits: 3)
        }
        writer.put("Z")
        return writer.next - start
    }
}

/// A date of the Gregorian calendar.
package struct CivilDate {
    var year: Int64
    var month: Int64
    var day: Int64

    /// Nil if the date does not exist.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), (1...CivilDate.length(of: month, in: year)).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    init(daysSince1970: Int64) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).dividedDown(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func length(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

private struct DateScanner {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    mutating func moment() -> Instant? {
        guard let year = number(digits: 4), let month = number(after: "-"), let day = number(after: "-"),
            let date = CivilDate(year: year, month: month, day: day), skip("T") || skip("t"),
            let hour = number(digits: 2), hour < 24, let minute = number(after: ":"), minute < 60,
            let second = number(after: ":"), second < 60, let fraction = fraction(), let offset = offsetMinutes(),
            position == bytes.count
        else { return nil }
        let seconds = date.daysSince1970 * 86_400 + (hour * 60 + minute - offset) * 60 + second
        return Instant(microseconds: seconds * 1_000_000 + fraction)
    }

    /// Moves past the next character and returns true if it is `character`. Otherwise returns false.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func digit() -> Int64? {
        guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
        defer { position += 1 }
        return Int64(bytes[position] - 0x30)
    }

    private mutating func number(digits: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func number(after separator: Unicode.Scalar) -> Int64? {
        skip(separator) ? number(digits: 2) : nil
    }

    /// Reads a fraction of a second and returns it in microseconds. Returns zero if there is no fraction.
    private mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        var (value, count) = (Int64(0), 0)
        while let digit = digit() {
            count += 1
            if count <= 6 { value = value * 10 + digit }
        }
        guard (1...9).contains(count) else { return nil }
        for _ in min(count, 6)..<6 { value *= 10 }
        return value
    }

    private mutating func offsetMinutes() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let isEast = skip("+")
        guard isEast || skip("-"), let hours = number(digits: 2), hours < 24,
            let minutes = number(after: ":"), minutes < 60
        else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }
}

private struct DigitWriter {
    var next: UnsafeMutablePointer<UInt8>

    mutating func put(_ character: Unicode.Scalar) {
        next.pointee = UInt8(ascii: character)
        next += 1
    }

    /// Writes at least `digits` digits, with leading zeros.
    mutating func put(_ value: Int64, digits: Int) {
        var (width, limit) = (digits, Int64(1))
        for _ in 0..<digits { limit *= 10 }
        while value.magnitude >= limit {
            width += 1
            limit *= 10
        }
        if value < 0 { put("-") }
        var rest = value.magnitude
        for index in stride(from: width - 1, through: 0, by: -1) {
            next[index] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        next += width
    }

    mutating func put(_ separator: Unicode.Scalar, _ value: Int64, digits: Int) {
        put(separator)
        put(value, digits: digits)
    }
}

extension Int64 {
    /// Divides and rounds down, so that the remainder is never negative.
    fileprivate func dividedDown(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
