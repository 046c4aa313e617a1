import JSON
import TestSupport
import Testing

struct RoundTripTests {
    @Test(arguments: Seeded.seeds)
    func `written values are read back unchanged`(seed: UInt64) {
        var random = Seeded(seed)
        var parser = JSONParser(limits: JSONLimits(bytesMax: 8 << 20))
        let memory = GuardedText(bytesMax: 8 << 20)
        for round in 0..<500 {
            let tree = Tree.random(depth: 5, using: &random)
            let text = tree.text
            let isSame = parser.read(Array(text.utf8), in: memory) { tree.isSame(as: $0) }
            #expect(isSame == .success(true), "round \(round): \(text)")
        }
    }
}

extension Tree {
    static func random(depth: Int, using random: inout Seeded) -> Tree {
        switch Int.random(in: 0...(depth > 0 ? 7 : 4), using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .whole(whole(using: &random))
        case 3: .real(real(using: &random))
        case 4: .string(text(using: &random))
        case 5, 6: .array(list(using: &random) { Tree.random(depth: depth - 1, using: &$0) })
        default:
            .object(
                list(using: &random) {
                    Member(key: text(using: &$0), value: Tree.random(depth: depth - 1, using: &$0))
                })
        }
    }

    private static func list<Item>(
        using random: inout Seeded, _ item: (inout Seeded) -> Item
    ) -> [Item] {
        (0..<Int.random(in: 0...6, using: &random)).map { _ in item(&random) }
    }

    private static func whole(using random: inout Seeded) -> Int64 {
        [.min, .max, 0, -1, Int64.random(in: -1000...1000, using: &random), Int64(bitPattern: random.next())]
            .randomElement(using: &random) ?? 0
    }

    private static func real(using random: inout Seeded) -> Double {
        let number = Double(bitPattern: random.next())
        return number.isFinite ? number : -0.0
    }

    /// Runs of random scalars: ASCII with control characters, Latin, Cyrillic, Hebrew, Arabic, CJK, emoji, private use,
    /// and scalars beside the surrogates and at the ends of planes.
    private static func text(using random: inout Seeded) -> String {
        let blocks: [ClosedRange<UInt32>] = [
            0...0x7F, 0...0x1F, 0x20...0x7E, 0xA0...0x24F, 0x400...0x4FF, 0x590...0x6FF, 0x4E00...0x9FFF,
            0xD7F0...0xD7FF, 0xE000...0xE010, 0xFFF0...0xFFFF, 0x1F300...0x1FAFF, 0x10FFF0...0x10FFFF,
        ]
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            guard let block = blocks.randomElement(using: &random) else { continue }
            for _ in 0..<Int.random(in: 1...9, using: &random) {
                Unicode.Scalar(UInt32.random(in: block, using: &random)).map { scalars.append($0) }
            }
        }
        return String(scalars)
    }
}
