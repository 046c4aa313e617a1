import JSON
import Testing

struct LimitTests {
    private let small = JSONLimits(bytesMax: 100, depthMax: 3)

    @Test func `a text is accepted up to the limit and refused with one byte more`() {
        #expect(refusal("\"" + String(repeating: "x", count: 98) + "\"", limits: small) == nil)
        let error = JSONError(.tooLong(bytes: 101, limit: 100), at: 100)
        #expect(refusal("\"" + String(repeating: "x", count: 99) + "\"", limits: small) == error)
        #expect(refusal(String(repeating: " ", count: 101), limits: small) == error)
    }

    @Test func `nesting is accepted up to the limit and refused one level deeper`() {
        #expect(refusal("[[[1]]]", limits: small) == nil)
        #expect(refusal("{\"a\":{\"a\":[]}}", limits: small) == nil)
        #expect(refusal("[[[],[]],[[]]]", limits: small) == nil)
        #expect(refusal("[[[[1]]]]", limits: small) == JSONError(.tooDeep(limit: 3), at: 3))
        #expect(refusal("[[[]],{\"a\":[{", limits: small) == JSONError(.tooDeep(limit: 3), at: 12))
        #expect(refusal("1", limits: JSONLimits(depthMax: 0)) == nil)
        #expect(refusal("[]", limits: JSONLimits(depthMax: 0)) == JSONError(.tooDeep(limit: 0), at: 0))
    }

    @Test func `ten thousand levels are refused by default and read when allowed`() {
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        #expect(refusal(deep) == JSONError(.tooDeep(limit: 128), at: 128))
        let allowed = JSONLimits(depthMax: 10_000)
        #expect(refusal(deep, limits: allowed) == nil)
        #expect(refusal("[" + deep + "]", limits: allowed) == JSONError(.tooDeep(limit: 10_000), at: 10_000))
        #expect(refusal(String(deep.prefix(10_000)), limits: allowed)?.offset == 10_000)
        let objects = String(repeating: "{\"a\":", count: 10_000)
        #expect(refusal(objects, limits: allowed)?.offset == objects.utf8.count)
    }

    @Test(arguments: ["0,", "\"\",", "[],", "[0],", "{\"\":0},", "[[[0]]],"])
    func `ten million bytes are refused by default and read when allowed`(_ element: String) {
        let count = 10_000_000 / element.utf8.count
        let text = Array(("[" + String(repeating: element, count: count) + "0]").utf8)
        #expect(refusal(text) == JSONError(.tooLong(bytes: text.count, limit: 2 << 20), at: 2 << 20))
        #expect(read(text, limits: JSONLimits(bytesMax: 16 << 20)) { $0.count } == .success(count + 1))
    }

    /// Texts that need the most nodes for their length, with their containers open or closed. If the parser writes a
    /// node outside its memory, only the address sanitizer is sure to report it.
    @Test func `the parser has memory for texts with the most values for their length`() {
        for depth in [0, 1, 2, 127, 128] {
            for count in [0, 1, 2, 100, 1000] {
                let open = String(repeating: "[", count: depth)
                let elements = String(repeating: "0,", count: count) + "0"
                let text = depth == 0 ? "0" : open + elements + String(repeating: "]", count: depth)
                #expect(refusal(text) == nil)
                #expect(depth == 0 || refusal(open + elements) != nil)
            }
        }
    }

    @Test func `a parser can be used after an error`() {
        var parser = JSONParser(limits: JSONLimits(refusesDuplicateKeys: true))
        let memory = GuardedText(bytesMax: 4096)
        let valid = Array(#"{"a":[1,{"b":"c"}],"d":-2.5}"#.utf8)
        for bad in [
            "", "[[[[{\"a\":", "{\"a\":1,\"a\":2}", "\"\\uD800\"", "[1,2", "nul", String(repeating: "[", count: 200),
        ] {
            #expect(throws: JSONError.self) { try parser.read(Array(bad.utf8), in: memory) { _ in () }.get() }
            #expect(
                parser.read(valid, in: memory) { Tree($0).text } == .success(String(decoding: valid, as: UTF8.self)))
        }
    }

    @Test func `a parser can read a big text, a small text and a big text again`() {
        var parser = JSONParser()
        let big = "[" + (0..<100_000).map { String($0) }.joined(separator: ",") + "]"
        let memory = GuardedText(bytesMax: big.utf8.count)
        for _ in 0..<2 {
            let numbers = parser.read(Array(big.utf8), in: memory) { $0.elements.map { $0.int64 } }
            #expect(numbers == .success((0..<100_000).map { Int64($0) }))
            #expect(
                parser.read(Array("[[],{\"a\":7}]".utf8), in: memory) { Tree($0).text } == .success("[[],{\"a\":7}]"))
        }
    }

    @Test func `limits that are negative or too high for the parser stop the process`() async {
        await #expect(processExitsWith: .failure) { _ = JSONLimits(bytesMax: JSONLimits.bytesMaxHighest + 1) }
        await #expect(processExitsWith: .failure) { _ = JSONLimits(bytesMax: -1) }
        await #expect(processExitsWith: .failure) { _ = JSONLimits(depthMax: JSONLimits.bytesMaxHighest + 1) }
        await #expect(processExitsWith: .failure) { _ = JSONLimits(depthMax: -1) }
    }
}
