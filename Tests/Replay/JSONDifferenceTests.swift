import Replay
import Testing

@Suite struct JSONDifferenceTests {
    @Test(
        arguments: [
            (#"{"a":1,"b":{"c":[1,2]}}"#, #"{"a":1,"b":{"c":[1,3]}}"#, "/b/c/1", "2", "3"),
            (#"{"a":1,"b":2}"#, #"{"a":3,"b":4}"#, "/a", "1", "3"),
            (#"{"a":"x"}"#, #"{"a":"y"}"#, "/a", #""x""#, #""y""#),
            (#"{"a":1}"#, #"{"a":1,"m/n~":true}"#, "/m~1n~0", nil, "true"),
            (#"{"a":[1,2]}"#, #"{"a":[1]}"#, "/a/1", "2", nil),
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, "", #"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#),
            ("{", "[", "", "{", "["),
        ] as [(String, String, String, String?, String?)])
    func `a difference points to the first member that differs, or to the whole text if no member differs`(
        _ left: String, _ right: String, _ pointer: String, _ leftText: String?, _ rightText: String?
    ) {
        let difference = JSONDifference(left, right)
        #expect(difference.pointer == pointer)
        #expect(difference.left == leftText)
        #expect(difference.right == rightText)
    }
}
