import CloudKitModel
import Events
import Foundation
import JSON
import Signing
import Time

/// A web authentication token: the Base64 of a version, an HMAC and the session as JSON.
///
/// The gateway stores no tokens. Only those who have the secret can issue a token. Some clients check the characters
/// and the length of a token. So a token has only characters that Apple's tokens have, and at least 100 characters.
enum WebToken {
    private static let version: UInt8 = 1
    private static let codeBytes = 32

    static func text(_ session: WebSession, _ secret: [UInt8]) -> String {
        let claims = session.claims
        return Data([version] + code(of: claims, secret) + claims).base64EncodedString()
    }

    /// The session of a token; nil if the text is not a token that was issued under this secret, or if another version
    /// of Belfry issued it in another form.
    static func session(_ text: String, _ secret: [UInt8]) -> WebSession? {
        guard let bytes = Data(base64Encoded: text).map({ Array($0) }), bytes.first == version,
            bytes.count > 1 + codeBytes
        else { return nil }
        let claims = Array(bytes[(1 + codeBytes)...])
        guard ConstantTime.areEqual(Array(bytes[1...codeBytes]), code(of: claims, secret)) else { return nil }
        return WebSession(claims: claims)
    }

    private static func code(of claims: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        HMAC.code(of: [[version], claims], key: secret)
    }
}

extension WebSession {
    fileprivate var claims: [UInt8] {
        Array(
            ByteBuffer.object {
                $0.append(.user, user)
                $0.append(.container, container)
                $0.append(.environment, word: environment.word)
                $0.append("key", keyID)
                $0.append("databases", databases.words)
                $0.append("readOnly", isReadOnly)
                $0.append("keep", keepsSignedIn)
                $0.append("signedIn", signedIn.microseconds)
                $0.append("expires", expires.microseconds)
            }.text.utf8)
    }

    /// Nil if the claims cannot be read. Only another version of Belfry can have signed such claims.
    fileprivate init?(claims: [UInt8]) {
        var parser = JSONParser()
        let session: WebSession? = claims.withUnsafeBytes { text in
            do { return try WebSession(try parser.parse(text)) } catch { return nil }
        }
        guard let session else { return nil }
        self = session
    }

    private init(_ json: JSONValue) throws(ModelError) {
        self.init(
            user: try json.text(.user), container: try json.text(.container),
            environment: try ContainerEnvironment(try json.required(.environment)), keyID: try json.text("key"),
            databases: try json.words("databases") { value throws(ModelError) in try DatabaseScope(value) },
            isReadOnly: try json.boolean("readOnly"), signedIn: try json.instant("signedIn"),
            keepsSignedIn: try json.boolean("keep"), expires: try json.instant("expires"))
    }
}

extension JSONValue {
    fileprivate func instant(_ key: StaticString) throws(ModelError) -> Instant {
        guard let microseconds = try required(key).int64 else { throw ModelError.missing(key) }
        return Instant(microseconds: microseconds)
    }
}
