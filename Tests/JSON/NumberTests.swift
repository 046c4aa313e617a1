import JSON
import TestSupport
import Testing

struct NumberTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-1", -1), ("999999999999999999", 999_999_999_999_999_999),
            ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min),
            ("9223372036854775806", Int64.max - 1),
            ("-9223372036854775807", Int64.min + 1), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("9999999999999999999", nil), ("-9999999999999999999", nil), ("18446744073709551616", nil),
            ("18446744073709551617", nil), ("100000000000000000000000000000", nil), ("1.0", nil), ("1e3", nil),
            ("1E0", nil),
            ("\"1\"", nil), ("true", nil), ("null", nil), ("[1]", nil), ("{}", nil),
        ] as [(String, Int64?)])
    func `a whole number is read if it fits and has no fraction or exponent`(_ text: String, _ number: Int64?) {
        #expect(read(text) { $0.int64 } == .success(number))
    }

    @Test(
        arguments: [
            ("0", 0), ("1.5", 1.5), ("-2.25", -2.25), ("1e3", 1000), ("1E-3", 0.001), ("0.1", 0.1), ("1e22", 1e22),
            ("1e23", 1e23), ("9007199254740993", 9_007_199_254_740_992), ("123456789012345", 123_456_789_012_345),
            ("0.000000000000001", 1e-15), ("1.7976931348623157e308", Double.greatestFiniteMagnitude),
            ("5e-324", Double.leastNonzeroMagnitude), ("4.9406564584124654e-324", Double.leastNonzeroMagnitude),
            ("2.2250738585072014e-308", Double.leastNormalMagnitude),
            ("2.2250738585072009e-308", Double.leastNormalMagnitude.nextDown),
            ("1e-324", 0), ("1e-400", 0), ("0e400", 0), ("0e99999999999999999999", 0), ("1e400", nil), ("-1e400", nil),
            ("1e99999999999999999999", nil), ("1.7976931348623159e308", nil), ("\"1\"", nil), ("null", nil),
            ("[]", nil),
        ] as [(String, Double?)])
    func `a number is read as the nearest double unless it is too large`(_ text: String, _ number: Double?) {
        #expect(read(text) { $0.double } == .success(number))
    }

    @Test(arguments: ["-0", "-0.0", "-0e0", "-0.000", "-1e-400"])
    func `zero keeps its sign as a double`(_ text: String) {
        #expect(read(text) { $0.double?.bitPattern } == .success((-0.0).bitPattern))
    }

    @Test(arguments: Seeded.seeds)
    func `decimals of up to 18 digits are read as Swift reads them`(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<20_000 {
            let text = decimal(using: &random)
            #expect(read(text) { $0.double?.bitPattern } == .success(Double(text)?.bitPattern), "\(text)")
        }
    }

    /// A decimal of up to 18 digits, with or without a point. Belfry reads short decimals without Swift's own parser.
    private func decimal(using random: inout Seeded) -> String {
        let digits = (0..<Int.random(in: 1...18, using: &random)).map { _ in Int.random(in: 0...9, using: &random) }
        let point = Int.random(in: 0...digits.count, using: &random)
        let whole = digits[..<point].drop { $0 == 0 }.map { String($0) }.joined()
        let fraction = digits[point...].map { String($0) }.joined()
        let sign = Bool.random(using: &random) ? "-" : ""
        return sign + (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : "." + fraction)
    }

    @Test func `a number with a million digits is read as the nearest double, or as nil if it is too large`() {
        let million = String(repeating: "9", count: 1_000_000)
        #expect(read(million) { $0.int64 } == .success(nil))
        #expect(read(million) { $0.double } == .success(nil))
        #expect(read("0." + million) { $0.double } == .success(1))
        #expect(read("0." + String(repeating: "0", count: 1_000_000) + "1") { $0.double } == .success(0))
    }
}
