import JSON
import Signing

/// The token of a provider: a JWT signed with one of its team's keys.
package struct ProviderToken: Sendable {
    package let key: SigningKey
    /// When the token was made, in seconds since 1970.
    package let issuedAt: Int64
}

/// A key whose private half signs provider tokens.
package struct SigningKey: Sendable {
    package var id: String
    package var team: String
    package var publicKey: PublicKey
    package var environments: Set<Environment>
    /// The bundle IDs that the key is valid for; nil if it is valid for any app of the team.
    package var bundles: Set<String>?
    /// The ID of another key of the team. Tokens of both keys may be used on the same connection.
    package var related: String?

    package init(
        id: String, team: String, publicKey: PublicKey,
        environments: Set<Environment> = Set(Environment.allCases), bundles: Set<String>? = nil,
        related: String? = nil
    ) {
        self.id = id
        self.team = team
        self.publicKey = publicKey
        self.environments = environments
        self.bundles = bundles
        self.related = related
    }
}

/// Reads a JWT (RFC 7519) in the form that APNs accepts.
struct TokenReader {
    let keys: [String: SigningKey]
    /// Whether to accept tokens like those of Apple's own sample code. They have a DER signature, padded or standard
    /// Base64, and `iat` as a string.
    let isLenient: Bool

    /// - Returns: Nil if the token is malformed, no known key signed it, or the token does not name the key's team.
    func read(_ text: String) -> ProviderToken? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = decode(parts[0]), let claims = decode(parts[1]) else { return nil }
        guard let key = signer(head), let signature = decode(parts[2]) else { return nil }
        guard let issuedAt = issuedAt(claims, by: key.team) else { return nil }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        return isSignature(signature, of: signed, by: key) ? ProviderToken(key: key, issuedAt: issuedAt) : nil
    }

    private func decode(_ part: Substring) -> [UInt8]? { Base64URL.bytes(of: part, leniently: isLenient) }

    private func signer(_ head: [UInt8]) -> SigningKey? {
        TokenJSON.read(head) { json in
            guard json["alg"]?.equals("ES256") == true, let id = json["kid"]?.string else { return nil }
            return keys[id]
        }
    }

    private func issuedAt(_ claims: [UInt8], by team: String) -> Int64? {
        TokenJSON.read(claims) { json in
            guard json["iss"]?.equals(team) == true, let value = json["iat"] else { return nil }
            let number = value.int64 ?? (isLenient ? value.string.flatMap { Int64($0) } : nil)
            // A larger number is a time in milliseconds, or too far in the future.
            return number.flatMap { (0...100_000_000_000).contains($0) ? $0 : nil }
        }
    }

    private func isSignature(_ bytes: [UInt8], of signed: [UInt8], by key: SigningKey) -> Bool {
        key.publicKey.isValid(rawSignature: bytes, for: signed)
            || isLenient && key.publicKey.isValid(derSignature: bytes, for: signed)
    }
}

private enum TokenJSON {
    /// Parses a part of a token and passes it to `body`. Nil if the part is not JSON, or if `body` returns nil.
    static func read<Value>(_ text: [UInt8], _ body: (JSONValue) -> Value?) -> Value? {
        var parser = JSONParser()
        return text.withUnsafeBytes { bytes in
            do throws(JSONError) { return body(try parser.parse(bytes)) } catch { return nil }
        }
    }
}
