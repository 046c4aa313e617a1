import Foundation

/// Secrets that stand in a pipeline file themselves, where it could say where they are.
extension PipelineFile {
    /// One warning for each, in the order of the file.
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
            entry.value.secretsInClear(under: keys, isBelow: keys.contains(entry.key), path(to: entry.key)).map {
                SettingsError(
                    file: file, at: $0.place, keyPath: $0.path,
                    reason: "the secret stands in clear, where all see it who see this file",
                    hint: "put it in a file that its owner alone may read, and write {$file: PATH} here; "
                        + "or {$env: NAME}, or {$credential: NAME}")
            }
        }
    }
}

extension SettingsNode {
    fileprivate func secretsInClear(
        under keys: Set<String>, isBelow: Bool, _ path: String
    ) -> [(path: String, place: Place)] {
        switch content {
        case .nothing: []
        case .scalar(let text, _): isBelow && SettingsNode.isSecret(text) ? [(path, place)] : []
        case .list(let items): items.flatMap { $0.secretsInClear(under: keys, isBelow: isBelow, path) }
        case .mapping(let entries):
            namesSecret
                ? []
                : entries.flatMap {
                    $0.value.secretsInClear(
                        under: keys, isBelow: isBelow || keys.contains($0.key), "\(path).\($0.key)")
                }
        }
    }

    /// - Parameters:
    ///   - isBelow: Whether one of the keys leads here.
    ///   - seal: What tells one secret from another.
    func markingSecrets(under keys: Set<String>, isBelow: Bool, _ seal: (String) -> String?) -> SettingsNode {
        var node = self
        switch content {
        case .nothing: break
        case .scalar(let text, _):
            guard isBelow, SettingsNode.isSecret(text) else { break }
            (node.isSecret, node.seal) = (true, seal(text) ?? node.seal)
        case .list(let items):
            node.content = .list(items.map { $0.markingSecrets(under: keys, isBelow: isBelow, seal) })
        case .mapping(let entries):
            if namesSecret { break }
            node.content = .mapping(
                entries.map { entry in
                    let isBelow = isBelow || keys.contains(entry.key)
                    let value = entry.value.markingSecrets(under: keys, isBelow: isBelow, seal)
                    return Entry(key: entry.key, place: entry.place, value: value)
                })
        }
        return node
    }

    /// Whether it says where a secret is, as `{$file: PATH}` does.
    private var namesSecret: Bool {
        guard case .mapping(let entries) = content else { return false }
        return entries.count == 1 && entries[0].key.hasPrefix("$")
    }

    /// An address without user and query says where something is, and nothing that is to be kept.
    private static func isSecret(_ text: String) -> Bool {
        guard let address = URLComponents(string: text), address.host?.isEmpty == false else { return true }
        return address.user != nil || address.password != nil || address.query != nil
    }
}
