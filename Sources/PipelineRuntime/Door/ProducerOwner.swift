import Signing

/// The owner of a producer's name, as the log's cursor records it: half of the SHA-256 of a client's name or of a
/// secret. It does not reveal the secret.
struct ProducerOwner: Hashable {
    let text: String

    init(client: String) { self.init(hashing: "client \(client)") }
    init(secret: String) { self.init(hashing: "secret \(secret)") }

    /// The owners that a producer may act as. If a name has no owner yet, it gets the first of these.
    ///
    /// A client with a stage's own key is a tool of the pipeline. Its names belong to the secret in the data folder, so
    /// that the tool keeps them when the stage is renamed or loses its keys.
    ///
    /// - Parameters:
    ///   - client: The name of the client that has the producer's CURVE key; nil for a producer without a key.
    ///   - secret: The producer's secret; nil for a producer without a secret.
    static func owners(client: String?, secret: String?) -> [ProducerOwner] {
        let client = client.map { (owner: ProducerOwner(client: $0), isStage: CurvePlan.isStage($0)) }
        let owners = [client?.owner, secret.map { ProducerOwner(secret: $0) }]
        return (client?.isStage == true ? owners.reversed() : owners).compactMap(\.self)
    }

    /// Reads an owner from an entry of the log's cursor; nil if the text is not 32 bytes long.
    init?(text: some StringProtocol) {
        guard text.utf8.count == 32 else { return nil }
        self.text = String(text)
    }

    private init(hashing text: String) {
        let digits = Array("0123456789abcdef")
        self.text = String(SHA256.digest(of: text).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
