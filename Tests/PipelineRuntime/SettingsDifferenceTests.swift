import Testing

@testable import PipelineRuntime

@Suite struct SettingsDifferences {
    @Test(arguments: [
        (#"{"a":"1"}"#, #"{"a":"1"}"#, []),
        (#"{"window":"1s","z":"1"}"#, #"{"window":"2s"}"#, ["window", "z"]),
        (
            #"{"t":{"apns":{"attempts":"3"}}}"#, #"{"t":{"apns":{"attempts":"4"},"hook":{"url":"u"}}}"#,
            ["t.apns.attempts", "t.hook"]
        ),
        (#"{"apps":[{"k":"1"},{"k":"2"}]}"#, #"{"apps":[{"k":"1"},{"k":"3"}]}"#, ["apps[1].k"]),
        (#"{"apps":["1"]}"#, #"{"apps":["1","2"]}"#, ["apps"]),
        (#"{"a":{"b":"1"}}"#, #"{"a":"1"}"#, ["a"]),
    ])
    func `the keys with different values are listed`(_ one: String, _ other: String, _ keys: [String]) {
        #expect(SettingsDifference.keys(of: one, other) == keys)
        #expect(SettingsDifference.keys(of: other, one) == keys)
    }
}
