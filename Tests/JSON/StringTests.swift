import JSON
import TestSupport
import Testing

struct StringTests {
    @Test func `only a string without escapes is plain, and a value of another kind has no text`() {
        #expect(read("\"héllo\"") { $0.plain.map { String(decoding: $0, as: UTF8.self) } } == .success("héllo"))
        #expect(read("\"\"") { $0.plain?.count } == .success(0))
        #expect(read("\"\\n\"") { $0.plain?.count } == .success(nil))
        #expect(read("12") { $0.plain?.count } == .success(nil))
        #expect(read("12") { $0.string } == .success(nil))
        #expect(read("[\"a\"]") { $0.withUTF8 { $0.count } } == .success(nil))
    }

    @Test func `every code unit escape is decoded in upper and lower case, and a lone surrogate is refused`() {
        for value in UInt32(0)...0xFFFF {
            let digits = String(value + 0x10000, radix: 16).dropFirst()
            let expected = Unicode.Scalar(value).map { String($0) }
            let lower = try? read("\"\\u\(digits)\"") { $0.string }.get()
            let upper = try? read("\"\\u\(digits.uppercased())\"") { $0.string }.get()
            #expect(lower == expected && upper == expected, "\(digits)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `surrogate pairs are decoded`(seed: UInt64) {
        var random = Seeded(seed)
        let edges: [UInt32] = [0x10000, 0x103FF, 0x10400, 0x10FC00, 0x10FFFF]
        for value in edges + (0..<2000).map({ _ in UInt32.random(in: 0x10000...0x10FFFF, using: &random) }) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let escape = String(scalar).utf16.map { "\\u" + String($0, radix: 16) }.joined()
            #expect(read("\"\(escape)\"") { $0.string } == .success(String(scalar)))
        }
    }

    @Test func `strings are compared after decoding`() {
        #expect(
            read("\"record\"") { [$0.equals("record"), $0.equals("recorD"), $0.equals("recor")] }
                == .success([true, false, false]))
        #expect(read(#""re\u0063ord""#) { [$0.equals("record"), $0.equals("recor")] } == .success([true, false]))
        #expect(read("\"\"") { [$0.equals(""), $0.equals("a")] } == .success([true, false]))
        #expect(read("[\"a\"]") { $0.equals("a") } == .success(false))
        #expect(read("12") { $0.equals("12") } == .success(false))
        let text = String("é")
        #expect(read("\"é\"") { $0.equals(text) } == .success(true))
        #expect(read("\"e\u{301}\"") { $0.equals(text) } == .success(false), "looks equal, but has other bytes")
    }

    @Test func `a long string of escapes is decoded`() {
        let escapes = String(repeating: #"\u4e2d\n\uD83D\uDE00"#, count: 20_000)
        #expect(read("\"\(escapes)\"") { $0.string } == .success(String(repeating: "中\n😀", count: 20_000)))
    }
}
