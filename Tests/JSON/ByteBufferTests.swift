import TestSupport
import Testing

@testable import JSON

struct ByteBufferTests {
    @Test func `bytes are kept while the buffer grows`() {
        var buffer = ByteBuffer(capacity: 0)
        var expected: [UInt8] = []
        for value in 0..<10_000 {
            let byte = UInt8(truncatingIfNeeded: value)
            buffer.append(byte: byte)
            buffer.append("ab")
            expected += [byte, UInt8(ascii: "a"), UInt8(ascii: "b")]
        }
        #expect(state(buffer).bytes == expected)
        #expect(state(buffer).capacity >= 30_000)
    }

    @Test func `a buffer always has memory for all its bytes`() {
        for first in 0..<40 {
            for more in 0..<40 {
                var buffer = ByteBuffer(capacity: 16)
                for _ in 0..<first { buffer.append(byte: 1) }
                [UInt8](repeating: 2, count: more).withUnsafeBytes { buffer.append($0) }
                #expect(state(buffer).bytes.count == first + more)
                #expect(state(buffer).capacity >= first + more)
            }
        }
    }

    @Test func `writing a text reads no byte after its end`() {
        let memory = GuardedText(bytesMax: 100)
        for length in 0..<40 {
            let text = [UInt8](repeating: UInt8(ascii: "x"), count: length)
            let quoted = memory.with(text) { bytes in written { $0.appendJSON(utf8: bytes) } }
            #expect(quoted == "\"" + String(repeating: "x", count: length) + "\"")
        }
    }

    @Test func `a buffer is cut and emptied in place`() {
        var buffer = ByteBuffer()
        #expect(state(buffer).isEmpty)
        buffer.append(raw: "héllo")
        #expect(!state(buffer).isEmpty)
        buffer.truncate(to: 3)
        #expect(state(buffer).text == "hé")
        let capacity = buffer.capacity
        buffer.removeAll()
        #expect(state(buffer).isEmpty && state(buffer).capacity == capacity)
        buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(state(buffer).isEmpty)
    }

    @Test func `memory beyond the limit is freed, unless the buffer has more bytes than the limit`() {
        var buffer = ByteBuffer(capacity: 10_000)
        buffer.append("hello")
        buffer.shrink(to: 3)
        #expect(state(buffer).capacity == 10_000, "more bytes are held than the limit")
        buffer.shrink(to: 100)
        #expect(state(buffer).capacity == 100 && state(buffer).text == "hello")
        buffer.reserve(200)
        #expect(state(buffer).capacity >= 205 && state(buffer).text == "hello")
    }

    @Test func `a buffer cannot be cut to more bytes than it has`() async {
        await #expect(processExitsWith: .failure) {
            var buffer = ByteBuffer()
            buffer.truncate(to: 1)
        }
    }

    @Test func `every byte to escape is escaped at any position`() {
        for byte in UInt8(0)...0x7F {
            let scalar = String(Unicode.Scalar(byte))
            for before in 0..<17 {
                let text = String(repeating: "x", count: before) + scalar + "yé"
                #expect(written { $0.appendJSON(text) } == "\"" + text.map { escaped($0) }.joined() + "\"")
            }
        }
    }

    /// Escapes only the characters that must be escaped (RFC 8259, section 7), with a short escape if there is one.
    private func escaped(_ character: Character) -> String {
        let short: [Character: String] = [
            "\"": "\\\"", "\\": "\\\\", "\u{8}": "\\b", "\u{C}": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
        ]
        if let escape = short[character] { return escape }
        guard let byte = character.asciiValue, byte < 0x20 else { return String(character) }
        return "\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    @Test(arguments: [
        (0, "0"), (9, "9"), (10, "10"), (-1, "-1"), (99, "99"), (100, "100"), (-1000, "-1000"),
        (Int64.max, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
    ])
    func `whole numbers are written exactly`(_ number: Int64, _ text: String) {
        #expect(written { $0.appendJSON(number) } == text)
        #expect(written { $0.appendJSON(Int(number)) } == text)
    }

    @Test func `whole numbers of any length are written`() {
        var bound: UInt64 = 1
        for _ in 0..<20 {
            for number in [bound - 1, bound, bound + 1] { #expect(written { $0.appendJSON(number) } == String(number)) }
            bound = bound.multipliedReportingOverflow(by: 10).partialValue
        }
        #expect(written { $0.appendJSON(UInt64.max) } == "18446744073709551615")
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, .signalingNaN])
    func `infinity and NaN are written as null`(_ number: Double) {
        #expect(written { $0.appendJSON(number) } == "null")
    }

    @Test(arguments: Seeded.seeds)
    func `finite doubles are written as Swift prints them`(seed: UInt64) {
        var random = Seeded(seed)
        let edges = [
            0, -0.0, 1, 0.1, 0.0001, 0.00001, 0.00011, 99_999_999_999.9999, 1e11, 1e15, 1e16, .leastNonzeroMagnitude,
            .pi,
        ]
        for number in edges + (0..<20_000).map({ _ in double(using: &random) }) where number.isFinite {
            #expect(written { $0.appendJSON(number) } == number.description)
        }
    }

    /// Random bits, or a decimal with a few digits after the point.
    private func double(using random: inout Seeded) -> Double {
        if Bool.random(using: &random) { return Double(bitPattern: random.next()) }
        let digits = Int64.random(in: -(1 << Int.random(in: 1...58, using: &random))...1_000_000, using: &random)
        return Double(digits) / [1, 10, 100, 1000, 10_000, 100_000][Int.random(in: 0...5, using: &random)]
    }

    private func state(_ buffer: borrowing ByteBuffer) -> (bytes: [UInt8], text: String, capacity: Int, isEmpty: Bool) {
        (Array(buffer.bytes), buffer.text, buffer.capacity, buffer.isEmpty)
    }

    private func written(_ write: (inout ByteBuffer) -> Void) -> String {
        var buffer = ByteBuffer(capacity: 0)
        write(&buffer)
        return buffer.text
    }
}
