import Foundation
import Signing
import Time

/// The headers of a request that is signed with a server-to-server key.
struct RequestSignature {
    let keyID: String
    private let dateText: String
    private let date: Instant
    /// The signature in DER.
    private let bytes: [UInt8]

    // CloudKit Web Services: a signature is valid for ten minutes. Belfry also accepts a date up to ten minutes ahead.
    private static let ageMax = Duration.seconds(10 * 60)

    /// - Returns: Nil if the request has none of the headers.
    /// - Throws: `BAD_REQUEST` if only some of the headers are present, or if a header is malformed or repeated.
    init?(_ request: AccessRequest) throws(AccessError) {
        let (id, date) = (try request.single(Field.keyID), try request.single(Field.date))
        let signature = try request.single(Field.signature)
        if id == nil, date == nil, signature == nil { return nil }
        keyID = try RequestSignature.required(id, Field.keyID)
        dateText = try RequestSignature.required(date, Field.date)
        guard let date = Instant(rfc3339: dateText) else {
            throw .badRequest(Field.date, "it is not a time, as in 2026-11-20T09:30:00Z")
        }
        self.date = date
        let text = try RequestSignature.required(signature, Field.signature)
        guard let bytes = Data(base64Encoded: text), !bytes.isEmpty else {
            throw .badRequest(Field.signature, "it is not Base64 with padding")
        }
        self.bytes = Array(bytes)
    }

    private static func required(_ value: String?, _ name: String) throws(AccessError) -> String {
        guard let value, !value.isEmpty else {
            throw .badRequest(name, "it is missing or empty, but a signed request needs it")
        }
        return value
    }

    func isRecent(at now: Instant) -> Bool {
        let age = now - date
        return age <= RequestSignature.ageMax && age >= .zero - RequestSignature.ageMax
    }

    /// Whether the key signed the date, the body and the path of the request.
    func isValid(for request: AccessRequest, _ key: PublicKey) -> Bool {
        let digest = Data(SHA256.digest(of: request.body)).base64EncodedString()
        // For an empty body, some clients sign the digest of no bytes. MistKit signs an empty string in its place.
        let bodies = request.body.isEmpty ? [digest, ""] : [digest]
        // CloudKit JS signs the path with the query, and OpenCloudKit signs only the path.
        let paths = request.rawQuery.isEmpty ? [request.path] : ["\(request.path)?\(request.rawQuery)", request.path]
        return paths.contains { path in
            bodies.contains { key.isValid(derSignature: bytes, for: Array("\(dateText):\($0):\(path)".utf8)) }
        }
    }
}

extension Authenticator {
    /// The caller of a signed request.
    func caller(
        signing request: AccessRequest, _ signature: RequestSignature, _ path: WebServicesPath, at now: Instant
    ) throws(AccessError) -> Caller {
        guard let key = keys.key(signature.keyID), case .server(let publicKey, let user) = key.kind else {
            throw .wrong(Field.keyID, "there is no server-to-server key with this ID, or it was revoked")
        }
        guard signature.isRecent(at: now) else {
            throw .notValid(Field.date, "it is more than 10 minutes away from the gateway's time, \(now)")
        }
        guard signature.isValid(for: request, publicKey) else {
            throw .wrong(Field.signature, "it does not fit the date, the body and the path", of: key.id)
        }
        try key.scope.check(path)
        return Caller(
            path: path, user: user, databases: key.scope.databases, keyName: key.name, webToken: nil,
            isReadOnly: key.scope.isReadOnly, keyID: key.id, signInURL: nil)
    }
}
