/// Frames that no honest peer sends.
enum BadFrames {
    static let nested = [UInt8](repeating: UInt8(ascii: "["), count: 10_000)

    /// Frames that are not JSON, or that exceed the limits for JSON.
    static let unparsable: [(name: String, frame: [UInt8])] = [
        ("empty", []),
        ("no JSON", Array(text: "hello?")),
        ("cut short", Array(text: #"{"type":"hel"#)),
        ("invalid UTF-8", [0x7B, 0x22, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D]),
        ("a NUL byte", Array(text: "{\"type\":\"hello\0\"}")),
        ("nested 10,000 deep", nested),
        (
            "10 MB",
            Array(text: "{\"type\":\"") + [UInt8](repeating: UInt8(ascii: "x"), count: 10 << 20) + Array(text: "\"}")
        ),
    ]

    /// JSON that is not a control frame of a known type.
    static let wrongTypes: [(name: String, frame: [UInt8])] = [
        ("an array", Array(text: "[]")),
        ("a number", Array(text: "17")),
        ("no type", Array(text: "{}")),
        ("a type that is a number", Array(text: #"{"type":7}"#)),
        ("a type that is null", Array(text: #"{"type":null}"#)),
        ("an unknown type", Array(text: #"{"type":"launch"}"#)),
    ]
}
