import JSON
import Testing

struct MemberTests {
    private let text = #"{"a":1,"\u0062":{"a":2,"c":[10,[20,21],{"d":30}]},"a":3,"":4,"e":[]}"#

    @Test func `a member is found by its decoded key`() {
        #expect(read(text) { $0["a"]?.int64 } == .success(1), "the first of two")
        #expect(read(text) { $0["b"]?["a"]?.int64 } == .success(2))
        #expect(read(text) { $0[""]?.int64 } == .success(4))
        #expect(read(text) { $0.member(String("b"))?.count } == .success(2))
        #expect(read(text) { $0["c"] == nil && $0["d"] == nil && $0["ab"] == nil } == .success(true))
        #expect(read("[\"a\",1]") { $0["a"] == nil } == .success(true))
        #expect(read("\"a\"") { $0["a"] == nil } == .success(true))
    }

    @Test func `members and elements have the order of the text, and a value of another kind has none`() {
        #expect(read(text) { $0.members.map { $0.key.string } } == .success(["a", "b", "a", "", "e"]))
        #expect(read(text) { $0["b"]?["c"]?.elements.map { $0.count } } == .success([0, 2, 1]))
        #expect(read(text) { $0.elements.map { $0.count } } == .success([]))
        #expect(read("[1,2]") { $0.members.map { $0.key.string } } == .success([]))
        #expect(read("3") { $0.count } == .success(0))
    }

    @Test func `a value gives its exact text, and its offset in the whole text`() {
        let spaced = "  { \"k\" : [ 1 , \"x\" ] }  "
        #expect(read(spaced) { String(decoding: $0.raw, as: UTF8.self) } == .success("{ \"k\" : [ 1 , \"x\" ] }"))
        #expect(read(spaced) { $0["k"].map { String(decoding: $0.raw, as: UTF8.self) } } == .success("[ 1 , \"x\" ]"))
        #expect(read(spaced) { $0["k"]?.offset } == .success(10))
        #expect(read(spaced) { $0["k"]?.elements.map { $0.offset } } == .success([12, 16]))
    }

    @Test func `a value has one of seven kinds`() {
        let kinds: [JSONValue.Kind] = [.null, .false, .true, .number, .string, .array, .object]
        #expect(read("[null,false,true,1,\"\",[],{}]") { $0.elements.map { $0.kind } } == .success(kinds))
        #expect(read("[null,false,true,1]") { $0.elements.map { $0.bool } } == .success([nil, false, true, nil]))
    }
}
