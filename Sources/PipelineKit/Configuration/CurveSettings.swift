/// The CURVE keys of a stage, for links to other machines. A public key is Z85 text of 40 characters.
///
/// Wherever a public key is expected, two are allowed: the old and the new key, while their owner changes keys.
package struct CurveSettings: PluginSettings {
    /// A program that may connect, and its keys.
    package struct Client: Sendable, Equatable {
        /// Letters a-z, digits and hyphens.
        package let name: String
        /// One public key, or two while the program changes keys.
        package let keys: [String]
    }

    /// The stage's own keys. One of them belongs to ``secretKey``.
    package let publicKeys: [String]
    /// The stage's secret key. It is read when the stage starts.
    package let secretKey: Secret
    /// The upstream stage must prove that it has one of these keys. If the list is empty, the upstream stage's own
    /// `publicKey` in the pipeline file is used. If the upstream stage has no `publicKey` there, the link to it is not
    /// encrypted.
    package let upstreamKeys: [String]
    /// The programs that may send through the stage's door.
    package let producers: [Client]
    /// The programs that may read the stage's log, besides the downstream stages.
    package let readers: [Client]

    /// - Throws: If a setting is missing or invalid, or if two producers or two readers share a key.
    package init(from settings: inout SettingsReader) throws(SettingsError) {
        settings.note("publicKey", "key, or list of two keys")
        publicKeys = try settings.required("publicKey", placeholder: []) { node throws(Complaint) in
            try SettingsReader.z85Keys(node)
        }
        secretKey = try settings.secret("secretKey")
        upstreamKeys = try settings.publicKeys("upstreamKey")
        producers = try settings.clients("producers")
        readers = try settings.clients("readers")
    }
}

extension SettingsReader {
    fileprivate mutating func publicKeys(_ key: String) throws(SettingsError) -> [String] {
        note(key, "key, or list of two keys")
        return try optional(key) { node throws(Complaint) in try Self.z85Keys(node) } ?? []
    }

    fileprivate static func z85Keys(_ node: SettingsNode) throws(Complaint) -> [String] {
        guard case .list(let items) = node.content else { return [try z85Key(node)] }
        guard 1...2 ~= items.count else {
            throw Complaint("has \(items.count.of("key"))", hint: "write one key, or two while the old key is replaced")
        }
        return try items.map { item throws(Complaint) in try z85Key(item) }
    }

    /// Clients by name. A key identifies its client, so two clients cannot share a key.
    fileprivate mutating func clients(_ key: String) throws(SettingsError) -> [CurveSettings.Client] {
        guard var inner = try mapping(key) else { return [] }
        var clients: [CurveSettings.Client] = []
        for name in inner.keys {
            do throws(Complaint) { try Self.checkName(name) } catch {
                throw inner.fail(name, error.reason, hint: error.hint)
            }
            let keys = try inner.publicKeys(name)
            if let other = clients.first(where: { !Set($0.keys).isDisjoint(with: keys) }) {
                throw inner.fail(
                    name, "has the same key as \(other.name)", hint: "make a key for each client: belfry curve make")
            }
            clients.append(CurveSettings.Client(name: name, keys: keys))
        }
        return clients
    }

    // ZeroMQ RFC 32: 5 characters are 4 bytes, as a number in base 85 with these digits; 32 bytes are 40 characters.
    private static let z85Digits = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

    private static func z85Key(_ node: SettingsNode) throws(Complaint) -> String {
        let text = try node.text(expecting: "a key")
        let digits = text.utf8.compactMap { z85Digits.firstIndex(of: $0) }
        guard digits.count == text.utf8.count else { throw invalidKey(found: "a character that is not in Z85") }
        guard digits.count == 40 else { throw invalidKey(found: digits.count.of("character")) }
        let numbers = stride(from: 0, to: 40, by: 5).map { digits[$0..<($0 + 5)].reduce(0) { $0 * 85 + $1 } }
        guard numbers.allSatisfy({ $0 <= UInt32.max }) else {
            throw invalidKey(found: "five characters that Z85 never produces")
        }
        return text
    }

    private static func invalidKey(found: String) -> Complaint {
        Complaint("expected a Z85 key of 40 characters, found \(found)", hint: "keys with punctuation need quotes")
    }
}
