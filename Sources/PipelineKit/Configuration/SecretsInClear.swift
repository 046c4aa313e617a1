import Foundation

/// Finds secrets whose text is in the pipeline file itself.
extension PipelineFile {
    /// A warning for each such secret, in the order of the file. Leaves out stages that are programs.
    ///
    /// - Parameter keys: See ``PluginSettings/secretKeys``.
    package func secretsInClear(under keys: Set<String>) -> [SettingsError] {
        stagesInOrder.filter(\.command.isEmpty).flatMap { $0.settings.secretsInClear(under: keys) }
            .sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }
}

extension SettingsReader {
    fileprivate func secretsInClear(under keys: Set<String>) -> [SettingsError] {
        nodes.flatMap { entry in
            entry.value.secretsInClear(under: keys, isUnderKey: keys.contains(entry.key), path(to: entry.key)).map {
                SettingsError(
                    file: file, at: $0.place, keyPath: $0.path,
                    reason: "the secret is in clear: everybody who may read this file sees it",
                    hint: "put it in a file that only its owner may read, and write {$file: PATH} here; "
                        + "or {$env: NAME}, or {$credential: NAME}")
            }
        }
    }
}

extension SettingsNode {
    fileprivate func secretsInClear(
        under keys: Set<String>, isUnderKey: Bool, _ path: String
    ) -> [(path: String, place: Place)] {
        switch content {
        case .nothing: []
        case .scalar(let text, _): isUnderKey && SettingsNode.mayBeSecret(text) ? [(path, place)] : []
        case .list(let items): items.flatMap { $0.secretsInClear(under: keys, isUnderKey: isUnderKey, path) }
        case .mapping(let entries):
            namesSecret
                ? []
                : entries.flatMap {
                    $0.value.secretsInClear(
                        under: keys, isUnderKey: isUnderKey || keys.contains($0.key), "\(path).\($0.key)")
                }
        }
    }

    /// A copy of the node. Each string at or below one of the keys is marked as a secret if it may be a secret.
    ///
    /// - Parameters:
    ///   - isUnderKey: Whether the node is at or below one of the keys.
    ///   - seal: Makes the seal of a secret. If the result is nil, the node keeps its current seal.
    func markingSecrets(under keys: Set<String>, isUnderKey: Bool, _ seal: (String) -> String?) -> SettingsNode {
        var node = self
        switch content {
        case .nothing: break
        case .scalar(let text, _):
            guard isUnderKey, SettingsNode.mayBeSecret(text) else { break }
            (node.isSecret, node.seal) = (true, seal(text) ?? node.seal)
        case .list(let items):
            node.content = .list(items.map { $0.markingSecrets(under: keys, isUnderKey: isUnderKey, seal) })
        case .mapping(let entries):
            if namesSecret { break }
            node.content = .mapping(
                entries.map { entry in
                    let isUnderKey = isUnderKey || keys.contains(entry.key)
                    let value = entry.value.markingSecrets(under: keys, isUnderKey: isUnderKey, seal)
                    return Entry(key: entry.key, place: entry.place, value: value)
                })
        }
        return node
    }

    /// Whether the node names the source of a secret, such as `{$file: PATH}`.
    private var namesSecret: Bool {
        guard case .mapping(let entries) = content else { return false }
        return entries.count == 1 && entries[0].key.hasPrefix("$")
    }

    /// Whether a text may be a secret. Only a URL without user, password and query is surely no secret.
    private static func mayBeSecret(_ text: String) -> Bool {
        guard let address = URLComponents(string: text), address.host?.isEmpty == false else { return true }
        return address.user != nil || address.password != nil || address.query != nil
    }
}
