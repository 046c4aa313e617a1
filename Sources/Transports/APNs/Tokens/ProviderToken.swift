import Signing
import Time

/// The token with which a provider authenticates at APNs: a JSON Web Token, signed with ES256 (RFC 7515, 7518, 7519).
struct ProviderToken: Hashable, Sendable {
    /// `HEADER.CLAIMS.SIGNATURE`.
    let text: String
    /// When the token was made, in whole seconds: its claim `iat`.
    let issued: Instant
    /// Random whole seconds, added to the age at which this token is replaced; may be negative.
    let shift: Duration

    init(text: String, issued: Instant, shift: Duration = .zero) {
        (self.text, self.issued, self.shift) = (text, issued, shift)
    }

    init(signedBy key: SigningKey, at now: Instant, shift: Duration = .zero) throws {
        let seconds = now.microseconds / 1_000_000
        let header = #"{"alg":"ES256","kid":"\#(key.id)"}"#
        let claims = #"{"iss":"\#(key.team)","iat":\#(seconds)}"#
        let content = Base64URL.text(of: header.utf8) + "." + Base64URL.text(of: claims.utf8)
        text = content + "." + Base64URL.text(of: try key.key.signature(for: Array(content.utf8)))
        issued = Instant(microseconds: seconds * 1_000_000)
        self.shift = shift
    }

    func isSigned(by key: SigningKey) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.bytes(of: parts[2]) else { return false }
        return key.key.publicKey.isValid(
            rawSignature: bytes, for: Array("\(parts[0]).\(parts[1])".utf8))
    }
}

/// A team's key from a `.p8` file, with the ID of the key.
struct SigningKey: Sendable {
    let id: String
    let team: String
    let key: PrivateKey

    /// - Parameter pem: The key in PKCS#8, as in the file from Apple.
    init(id: String, team: String, pem: String) throws {
        self.id = id
        self.team = team
        key = try PrivateKey(pem: pem)
    }

    /// Identifies the key.
    var name: String { Self.name(id: id, team: team) }

    static func name(id: String, team: String) -> String { "\(team)-\(id)" }
}
