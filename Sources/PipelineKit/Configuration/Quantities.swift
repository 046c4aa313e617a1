/// Parses and formats durations and sizes in pipeline files: whole numbers with units.
struct Quantities {
    /// The units, smallest first. Of several units of equal size, ``text(_:)`` uses the last one.
    let units: [(name: String, size: Int64)]
    let kind: String
    let examples: String
    /// The size of the unit of a number that is written without a unit; nil if a unit is required.
    let bareUnit: Int64?

    static let microseconds = Quantities(
        units: [
            ("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000), ("d", 86_400_000_000),
        ],
        kind: "a duration", examples: "50ms, 2s, 1m, 1h", bareUnit: nil)

    static let bytes = Quantities(
        units: [
            ("B", 1), ("KB", 1_000), ("kB", 1_000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20),
            ("GB", 1_000_000_000), ("GiB", 1 << 30), ("TB", 1_000_000_000_000), ("TiB", 1 << 40),
        ],
        kind: "a size", examples: "4096, 64 KiB, 1 MB", bareUnit: 1)

    /// The amount in the smallest unit.
    ///
    /// - Parameter isLong: Whether the setting allows only durations of at least a second. If so, the error for a text
    ///   without a unit suggests seconds and days, otherwise milliseconds and seconds.
    func amount(of text: String, isLong: Bool = false) throws(Complaint) -> Int64 {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard !digits.isEmpty, unit.isEmpty == text.allSatisfy(\.isNumber) else { throw malformed(text) }
        guard let size = try size(of: String(unit), in: text, isLong) else { throw malformed(text) }
        let (amount, overflow) = (Int64(digits) ?? .max).multipliedReportingOverflow(by: size)
        guard !overflow, amount < .max else { throw Complaint("\(text) is too large for \(kind)") }
        return amount
    }

    /// The text for an amount, in the largest unit that divides it.
    func text(_ amount: Int64) -> String {
        let unit = units.last { amount != 0 && amount % $0.size == 0 } ?? units[0]
        guard bareUnit == nil else { return unit.size == 1 ? "\(amount)" : "\(amount / unit.size) \(unit.name)" }
        return amount == 0 ? "0s" : "\(amount / unit.size)\(unit.name)"
    }

    private func size(of unit: String, in text: String, _ isLong: Bool) throws(Complaint) -> Int64? {
        guard unit.isEmpty else { return units.first { $0.name == unit }?.size }
        guard let bareUnit else {
            let hint = isLong ? "write \(text)s or \(text)d" : "write \(text)ms or \(text)s"
            throw Complaint("\(text) has no unit", hint: hint)
        }
        return bareUnit
    }

    private func malformed(_ text: String) -> Complaint {
        Complaint(
            "expected \(kind), found \(text.isEmpty ? "an empty string" : text)", hint: "write one like \(examples)")
    }
}

extension Duration {
    /// The duration as in a pipeline file, without fractions of a microsecond. It must not be negative.
    package var settingsText: String {
        let (seconds, attoseconds) = components
        return Quantities.microseconds.text(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
