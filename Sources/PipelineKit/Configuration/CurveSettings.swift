/// The CURVE keys of one stage, for links that leave the machine. Public keys are Z85 text of 40 characters.
public struct CurveSettings: PluginSettings {
    public let publicKey: String
    public let secretKey: Secret
    /// The key that the upstream stage must prove to have; nil for the source.
    public let upstreamKey: String?
    /// The consumers that may connect. Empty: none may.
    public let clients: [String]

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        publicKey = try settings.publicKey("publicKey")
        secretKey = try settings.secret("secretKey")
        upstreamKey = try settings.optionalPublicKey("upstreamKey")
        clients = try settings.publicKeys("clients")
    }
}

extension SettingsReader {
    fileprivate mutating func publicKey(_ key: String) throws(SettingsError) -> String {
        try required(key, placeholder: "") { node throws(Complaint) in try Self.z85Key(node) }
    }

    fileprivate mutating func optionalPublicKey(_ key: String) throws(SettingsError) -> String? {
        try optional(key) { node throws(Complaint) in try Self.z85Key(node) }
    }

    fileprivate mutating func publicKeys(_ key: String) throws(SettingsError) -> [String] {
        try optional(key) { node throws(Complaint) in
            try node.list("a list of keys").map { item throws(Complaint) in try Self.z85Key(item) }
        } ?? []
    }

    // ZeroMQ RFC 32: the alphabet of Z85; 32 bytes are 40 characters.
    private static let z85 = Set(".-:+=^!/*?&<>()[]{}@%$#".utf8)

    private static func z85Key(_ node: SettingsNode) throws(Complaint) -> String {
        let text = try node.text("a key")
        let known = text.utf8.allSatisfy { z85.contains($0) || isLetterOrDigit($0) }
        guard known, text.utf8.count == 40 else {
            throw Complaint("expected a Z85 key of 40 characters", hint: "keys with punctuation need quotes")
        }
        return text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "0"..."9", "a"..."z", "A"..."Z": true
        default: false
        }
    }
}
