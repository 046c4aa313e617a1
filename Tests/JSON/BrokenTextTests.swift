import Foundation
import JSON
import TestSupport
import Testing

/// Tests parts of valid texts, valid texts with one byte changed, and random pieces of grammar. Reading them must not
/// crash or read past their end.
struct BrokenTextTests {
    static let whole = [
        #"{"type":"record.save","n":[-0,12.5e-3,1E+9,true,false,null],"é":"\u00e9\"\\\uD83D\uDE00😀 ж"}"#,
        #" [ {"a" : {} , "b" : [ ] } , "中文 text that is longer than eight bytes" , 1234567890123 , [[[]]] ] "#,
    ]

    @Test(arguments: whole)
    func `every prefix that ends before the last bracket is refused as incomplete, empty or invalid UTF-8`(
        _ text: String
    ) {
        let bytes = Array(text.utf8)
        let end = bytes.lastIndex { $0 != UInt8(ascii: " ") } ?? 0
        for length in 0...end {
            let error = refusal(Array(bytes.prefix(length)))
            switch error?.reason {
            case .unexpectedEnd: #expect(error?.offset == length)
            case .empty: #expect(bytes.prefix(length).allSatisfy { $0 == UInt8(ascii: " ") })
            case .invalidUTF8: #expect(String(validating: bytes.prefix(length), as: UTF8.self) == nil)
            default: Issue.record("\(length) bytes: \(String(describing: error))")
            }
        }
    }

    @Test(arguments: whole)
    func `every suffix of a text is checked without a crash`(_ text: String) {
        let bytes = Array(text.utf8)
        for start in 1..<bytes.count { _ = refusal(Array(bytes[start...])) }
    }

    @Test(arguments: whole)
    func `changes of one byte are accepted or refused as by Foundation`(_ text: String) {
        let memory = GuardedText(bytesMax: text.utf8.count)
        let step = Tier.value(4, full: 1)
        var parser = JSONParser()
        for index in 0..<text.utf8.count {
            for byte in stride(from: Int(Seeded.ofThisRun % UInt64(step)), through: 255, by: step) {
                var bytes = Array(text.utf8)
                bytes[index] = UInt8(byte)
                let isAccepted = parser.read(bytes, in: memory) { $0.everyNumberIsFinite } == .success(true)
                #expect(isAccepted == foundationAccepts(bytes), "byte \(index) is 0x\(String(byte, radix: 16))")
            }
        }
    }

    @Test(arguments: Seeded.seeds)
    func `random pieces of grammar are accepted or refused as by Foundation`(seed: UInt64) {
        let pieces = #"{ } [ ] , : "a" " 0 - 1 . e + true null \"#.split(separator: " ").map { String($0) } + [" "]
        var random = Seeded(seed)
        for _ in 0..<5000 {
            let length = Int.random(in: 1...8, using: &random)
            let text = (0..<length).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let isAccepted = read(text) { $0.everyNumberIsFinite } == .success(true)
            #expect(isAccepted == foundationAccepts(Array(text.utf8)), "\(text)")
        }
    }

    /// Whether the text is UTF-8, has no comma before a closing bracket, and is accepted by Foundation. Foundation
    /// differs from Belfry in three ways: it accepts these commas, it accepts UTF-16, and it refuses numbers that are
    /// too large for a double, which are valid JSON. So the tests also require `everyNumberIsFinite`.
    private func foundationAccepts(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let withoutStrings = text.replacing(#/"(?:[^"\\]|\\.)*"/#, with: "0")
        guard !withoutStrings.contains(#/,\s*[\]}]/#) else { return false }
        return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    }
}

extension JSONValue {
    fileprivate var everyNumberIsFinite: Bool {
        guard !isNumber else { return double != nil }
        return elements.allSatisfy { $0.everyNumberIsFinite } && members.allSatisfy { $0.value.everyNumberIsFinite }
    }
}
