import Foundation
import PipelineKit
import Signing

/// Signs requests so that their receiver can check who sent them (Standard Webhooks 1.0.0, "Signature scheme").
struct WebhookSigner: Sendable, Equatable {
    private let keys: [[UInt8]]

    /// - Parameter secrets: Each secret is `whsec_` followed by 24 to 64 bytes in Base64. There are several secrets
    ///   while receivers change to a new one.
    init(_ secrets: [Secret]) throws(TransportError) {
        keys = try secrets.map { secret throws(TransportError) in try Self.key(secret) }
    }

    /// The value of `webhook-signature`: one signature for each secret, in their order; nil without secrets.
    func signatures(id: String, timestamp: Int64, body: [UInt8]) -> String? {
        guard !keys.isEmpty else { return nil }
        let start = Array("\(id).\(timestamp).".utf8)
        return keys.map { "v1,\(Data(HMAC.code(of: [start, body], key: $0)).base64EncodedString())" }
            .joined(separator: " ")
    }

    private static func key(_ secret: Secret) throws(TransportError) -> [UInt8] {
        let text: String
        do throws(SettingsError) { text = try secret.reveal() } catch {
            throw TransportError(error)
        }
        guard text.hasPrefix(prefix), let key = Data(base64Encoded: String(text.dropFirst(prefix.count))),
            keyBytes.contains(key.count)
        else {
            throw TransportError(
                secret.failure(
                    "does not contain whsec_ followed by 24 to 64 bytes in Base64",
                    hint: "make one with: echo whsec_$(openssl rand -base64 32)"))
        }
        return Array(key)
    }

    private static let prefix = "whsec_"
    private static let keyBytes = 24...64
}
