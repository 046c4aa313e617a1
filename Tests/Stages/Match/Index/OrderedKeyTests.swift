import TestSupport
import Testing

@testable import Match

@Suite struct OrderedKeyTests {
    private static let edges: [Double] =
        [
            0, -0.0, 1, -1, 0.1, -0.1, 1e308, -1e308, 0x1p-1074, -0x1p-1074, .infinity, -.infinity, 0x1p53, 0x1p53 + 2,
            -0x1p53, 0x1p63, -0x1p63, 1_048_576, 1_048_577, 3.5, -3.5, 1_631_134_086_602,
        ].flatMap { [$0, $0.nextUp, $0.nextDown] }

    @Test func `a smaller double never has a greater key, and an exact key is unique`() {
        let sorted = Self.edges.sorted()
        for (left, right) in zip(sorted, sorted.dropFirst()) {
            let (first, second) = (OrderedKey(left), OrderedKey(right))
            #expect(first.bits <= second.bits, "\(left) and \(right)")
            if left < right, first.isExact || second.isExact { #expect(first.bits < second.bits, "\(left), \(right)") }
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `keys of integers and doubles are in the order of the numbers`(seed: UInt64) {
        var random = Seeded(seed)
        let edges: [Int64] = [0, 1, -1, .max, .min, 1 << 53, -(1 << 53), 1 << 20, 1 << 62].flatMap { edge in
            (-3...3).map { edge &+ $0 }
        }
        for _ in 0..<20_000 {
            let whole =
                random.below(2) == 0 ? edges[random.below(edges.count)] : Int64(random.below(1 << 40)) - (1 << 39)
            let near = Double(whole)
            let doubles: [Double] = [
                near, near.nextUp, near.nextDown, near + 0.5, Self.edges[random.below(Self.edges.count)],
            ]
            let double = doubles[random.below(doubles.count)]
            let (left, right) = (OrderedKey(whole), OrderedKey(double))
            let order = compare(whole, double)
            if order < 0 { #expect(left.bits <= right.bits, "\(whole) and \(double)") }
            if order > 0 { #expect(left.bits >= right.bits, "\(whole) and \(double)") }
            if order == 0 { #expect(left.bits == right.bits, "\(whole) and \(double)") }
            if order != 0, left.isExact { #expect(left.bits != right.bits, "\(whole) and \(double)") }
        }
    }

    private func compare(_ left: Int64, _ right: Double) -> Int {
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let floor = Int64(right.rounded(.down))
        if left != floor { return left < floor ? -1 : 1 }
        return right > right.rounded(.down) ? -1 : 0
    }

    @Test func `keys of texts are in the order of their first bytes`() {
        let texts = ["", "\u{0}", "a", "ab", "abc", "abcd", "abcdz", "abd", "b", "é", "日本", "😀"].map { Array($0.utf8) }
        for (left, right) in zip(texts, texts.dropFirst()) {
            let keys = [left, right].map { text in text.withUnsafeBytes { OrderedKey($0).bits } }
            #expect(keys[0] <= keys[1], "\(left) and \(right)")
        }
    }

    @Test func `a key gives back a number near the original`() {
        for number in Self.edges where number.isFinite && number.magnitude > 1e-300 {
            let back = OrderedKey.number(OrderedKey(number).bits)
            #expect(abs(back - number) <= abs(number) * 1e-5, "\(number) and \(back)")
        }
    }
}
