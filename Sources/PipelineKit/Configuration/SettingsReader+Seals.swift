/// A seal is a short hash of the contents of a file or a secret. It shows that the contents have changed although the
/// settings still have the same path or name.
extension SettingsReader {
    /// A copy of the settings with a seal on every secret, and on every file at these keys. A secret or file gets no
    /// seal if this process cannot read it, if it can be read only once, as from a pipe, or if it is too large. A
    /// secret from an empty file, environment variable or credential gets no seal either.
    func sealed(files keys: Set<String>, secrets secretKeys: Set<String> = []) -> SettingsReader {
        with(nodes.map { $0.with(sealed($0.value, under: $0.key, keys)) })
            .markingSecrets(under: secretKeys) { Seal.of($0.utf8) }
    }

    /// A copy of the settings in which secrets in clear are marked, so that a record leaves them out.
    package func hidingSecrets(under keys: Set<String>) -> SettingsReader {
        markingSecrets(under: keys) { _ in nil }
    }

    private func markingSecrets(under keys: Set<String>, _ seal: (String) -> String?) -> SettingsReader {
        guard !keys.isEmpty else { return self }
        return with(
            nodes.map { $0.with($0.value.markingSecrets(under: keys, isUnderKey: keys.contains($0.key), seal)) })
    }

    private func sealed(_ node: SettingsNode, under key: String, _ keys: Set<String>) -> SettingsNode {
        switch node.content {
        case .nothing: node
        case .scalar(let path, _): keys.contains(key) ? node.sealed(sealOfFile(path)) : node
        case .list(let items): node.with(.list(items.map { sealed($0, under: key, keys) }))
        case .mapping(let entries):
            if let secret = secret(node) {
                node.sealed(seal(of: secret))
            } else {
                node.with(.mapping(entries.map { $0.with(sealed($0.value, under: $0.key, keys)) }))
            }
        }
    }

    private func secret(_ node: SettingsNode) -> Secret? {
        let error = SettingsError(file: file, at: node.place, keyPath: keyPath, reason: "")
        do throws(SettingsError) { return try Secret(node, folder: folder, error: error) } catch { return nil }
    }

    private func seal(of secret: Secret) -> String? {
        if let path = secret.file, !ConfigurationFile.isRegular(path) { return nil }
        do throws(SettingsError) { return Seal.of(try secret.reveal().utf8) } catch { return nil }
    }

    private func sealOfFile(_ path: String) -> String? {
        let path = FilePathText.join(folder, path)
        guard ConfigurationFile.isRegular(path) else { return nil }
        do throws(Complaint) {
            return Seal.of(try ConfigurationFile.read(path, bytesMax: Seal.fileBytesMax))
        } catch { return nil }
    }

    /// A copy of the settings. If a key has the same value as in `other`, the value gets its seals from `other`. Two
    /// marked secrets in clear always count as the same value, because a record leaves out their text.
    package func sealed(like other: SettingsReader) -> SettingsReader {
        with(Self.sealed(nodes, like: other.nodes))
    }

    private static func sealed(
        _ entries: [SettingsNode.Entry], like others: [SettingsNode.Entry]
    ) -> [SettingsNode.Entry] {
        entries.map { entry in
            guard let twin = others.first(where: { $0.key == entry.key }) else { return entry }
            return entry.with(sealed(entry.value, like: twin.value))
        }
    }

    private static func sealed(_ node: SettingsNode, like other: SettingsNode) -> SettingsNode {
        if record(of: node) == record(of: other.unsealed) { return other }
        guard case .mapping(let entries) = node.content, case .mapping(let others) = other.content else { return node }
        return node.with(.mapping(sealed(entries, like: others)))
    }

    var unsealed: SettingsReader { with(nodes.map { $0.with($0.value.unsealed) }) }
}

extension PipelineStage {
    /// See ``SettingsReader/sealed(files:secrets:)``.
    package func sealed(files keys: Set<String>, secrets: Set<String>) -> PipelineStage {
        with(settings.sealed(files: keys, secrets: secrets))
    }

    /// See ``SettingsReader/hidingSecrets(under:)``.
    package func hidingSecrets(under keys: Set<String>) -> PipelineStage { with(settings.hidingSecrets(under: keys)) }

    /// See ``SettingsReader/sealed(like:)``.
    package func sealed(like other: SettingsReader) -> PipelineStage { with(settings.sealed(like: other)) }
}

enum Seal {
    static let fileBytesMax = 1 << 20

    /// Sixteen bits: enough to notice nearly every change, and too few to guess or recognise a secret.
    static func of(_ content: some Sequence<UInt8>) -> String {
        var hash = content.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        hash ^= hash >> 32
        hash ^= hash >> 16
        let digits = String(hash & 0xFFFF, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension SettingsNode {
    fileprivate func with(_ content: Content) -> SettingsNode {
        SettingsNode(content: content, place: place, isSecret: isSecret)
    }

    fileprivate func sealed(_ seal: String?) -> SettingsNode {
        SettingsNode(content: content, place: place, seal: seal)
    }

    fileprivate var unsealed: SettingsNode {
        switch content {
        case .nothing, .scalar: with(content)
        case .list(let items): with(.list(items.map(\.unsealed)))
        case .mapping(let entries): with(.mapping(entries.map { $0.with($0.value.unsealed) }))
        }
    }
}

extension SettingsNode.Entry {
    fileprivate func with(_ value: SettingsNode) -> SettingsNode.Entry {
        SettingsNode.Entry(key: key, place: place, value: value)
    }
}
