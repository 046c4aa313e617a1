import PipelineKit
import Signing
import Synchronization

/// The tokens of a stage's keys. Pools and transports with the same key share one token, because APNs may count the
/// tokens of all connections together.
final class StageTokens: Sendable {
    /// Identifies a token. A corrected key file has another public key, and so gets another token.
    private struct Name: Hashable {
        let key: String
        let publicKey: PublicKey
        let file: String?
    }

    /// Holds a token only as long as somebody uses it.
    private struct WeakToken {
        weak var token: SharedToken?
    }

    private let tokens = Mutex<[Name: WeakToken]>([:])

    /// - Parameters:
    ///   - context: The context of the transport that needs the token. Its folder has the token's file.
    ///   - jitter: A number from 0 to 1 for each new token.
    func token(
        of key: SigningKey, _ context: TransportContext, jitter: @escaping @Sendable () -> Double
    ) -> SharedToken {
        let file = context.folder.map { "\($0)/\(key.name).token" }
        let name = Name(key: key.name, publicKey: key.key.publicKey, file: file)
        return tokens.withLock { tokens in
            if let token = tokens[name]?.token { return token }
            let token = SharedToken(key, keptAt: file, jitter: jitter) { context.tell("\(context.name): \($0)") }
            tokens = tokens.filter { $0.value.token != nil }
            tokens[name] = WeakToken(token: token)
            return token
        }
    }
}
