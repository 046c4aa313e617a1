import PipelineKit
import Signing
import Synchronization

/// The tokens of a stage's keys: pools and transports that use one key use one token, for what APNs counts may be wider
/// than a connection.
final class StageTokens: Sendable {
    /// A key that was mended has another token, and the old one ends with those that use it.
    private struct Name: Hashable {
        let key: String
        let publicKey: PublicKey
        let file: String?
    }

    private struct Place {
        weak var token: SharedToken?
    }

    private let places = Mutex<[Name: Place]>([:])

    /// - Parameters:
    ///   - context: Of the transport that asks; its folder is where the token is kept.
    ///   - jitter: From 0 to 1, for each token that is made.
    func token(
        of key: SigningKey, _ context: TransportContext, jitter: @escaping @Sendable () -> Double
    ) -> SharedToken {
        let file = context.folder.map { "\($0)/\(key.name).token" }
        let name = Name(key: key.name, publicKey: key.key.publicKey, file: file)
        return places.withLock { places in
            if let token = places[name]?.token { return token }
            let token = SharedToken(key, keptAt: file, jitter: jitter) { context.tell("\(context.name): \($0)") }
            places = places.filter { $0.value.token != nil }
            places[name] = Place(token: token)
            return token
        }
    }
}
